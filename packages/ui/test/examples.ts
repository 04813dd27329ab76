/** A server that has an example in `examples/ui`. */
export type Example = 'hono' | 'next'

type Method = 'POST' | 'GET' | 'DELETE'

/** The example as a function from request to response. */
export async function example(name: Example): Promise<(request: Request) => Response | Promise<Response>> {
  if (name === 'hono') return (await import('../../../examples/ui/hono.ts')).default.fetch
  const routes = await import('../../../examples/ui/next-route.ts')
  return async (request) => await routes[request.method as Method](request)
}
