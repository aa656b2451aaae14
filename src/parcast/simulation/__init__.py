"""A described program simulated event by event, beside the law's times: `parcast simulate`."""
