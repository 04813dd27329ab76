export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } })
}

export function missing(pathname: string): Response {
  return json({ name: 'NotFoundError', data: { message: `Nothing at ${pathname}.` } }, 404)
}
