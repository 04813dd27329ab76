/** A server that has an example in `examples/ui`. */
export type Example = 'hono' | 'next'

/** The example as a function from request to response. */
export async function example(name: Example): Promise<(request: Request) => Response | Promise<Response>> {
  if (name === 'hono') return (await import('../../../examples/ui/hono.ts')).default.fetch
  const { GET, POST, DELETE } = await import('../../../examples/ui/next-route.ts')
  const routes = new Map(Object.entries({ GET, POST, DELETE }))
  return async (request) => (await routes.get(request.method)?.(request)) ?? new Response(undefined, { status: 405 })
}
