"""The API that is probed instead of a candidate's; a folder of its own, so that nothing else can be imported."""
