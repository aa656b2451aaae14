"""Laws of other I/O libraries, over the same request and costs as the law of `parcast.arrays`."""
