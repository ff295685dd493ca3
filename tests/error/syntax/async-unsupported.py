# run: tree
async def g(): pass  # error: 'async' is not supported
