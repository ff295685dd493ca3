# run: tree
async def g(): pass  # error: async functions, loops and 'with' aren't supported
