/** Keys whose values are secrets, whatever they look like. */
const secretKey =
  /(?:api[-_]?key|authorization|password|passwd|secret|(?:access|refresh|auth|id|session|bot)?[-_]?token|cookie)$/i

/*
 * None of these may search from the same place to the end of a text again and again: what a frame holds is a model's to
 * say, and may be megabytes. So a length that is followed by something else has a bound, or nothing that is searched for stands in it.
 */

/** Well-known shapes of secrets, wherever they stand. */
const secretShape =
  /\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abeprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|\d{8,10}:[\w-]{35}|eyJ[\w-]{10,512}\.[\w-]{10,}\.[\w-]{10,})|\bBearer [\w.~+/-]{16,}=*|-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[\s\S]{0,8192}?-----END [A-Z ]{0,32}PRIVATE KEY-----/g

/** The user and password of a URL. */
const userInfo = /\/\/[^\s/@"']+@/g

/** The end of a name that says secret, with what it is set to, as in a shell or in JSON within a text. */
const assigned =
  /((?:api[-_]?key|authorization|password|passwd|secret|access[-_]?key|token)["']?\s*[:=]\s*["']?)(?!\[redacted\])[^\s"'&,;}]{4,}/gi

const homeDirectory = /(?:\/home\/|\/Users\/|[A-Z]:\\Users\\)[^/\\"'\s:]+|\/root(?=[/"'\s:]|$)/g

/** A frame's JSON text without secrets and without the name in the home directory. Text that is no JSON is treated as one string. */
export function redacted(data: string): string {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return blot(data)
  }
  return JSON.stringify(clean(value))
}

/** What is nested deeper is blotted out as a whole: neither this nor `JSON.stringify` could go to every depth. */
const maxDepth = 256

function clean(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return blot(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return '[redacted]'
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      blot(key),
      typeof item === 'string' && secretKey.test(key) ? '[redacted]' : clean(item, depth + 1),
    ]),
  )
}

function blot(text: string): string {
  return text
    .replace(secretShape, '[redacted]')
    .replace(userInfo, '//[redacted]@')
    .replace(assigned, '$1[redacted]')
    .replace(homeDirectory, '/home/user')
}
