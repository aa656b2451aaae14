"""What a proposal for computing time needs: scaling, jobs, node-hours and how they were found."""
