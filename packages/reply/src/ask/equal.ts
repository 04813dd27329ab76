import type { Ask, PermissionAsk } from '../ask.ts'

/** Values nested deeper never compare equal: at worst, a person is asked twice. */
const maxDepth = 256

/**
 * Whether one answer may settle both asks: two permissions that would run the same thing. Requires equal directory,
 * permission, patterns, `always`, metadata, and tool and input of the calls. Both calls must be known.
 */
export function isEqualAsk(a: Ask, b: Ask): boolean {
  const key = equalKey(a)
  return key !== undefined && key === equalKey(b)
}

/**
 * The same key for equal asks. Undefined if the ask can't equal another one: a question, a permission whose call is
 * unknown, and one that is nested too deeply.
 */
export function equalKey(ask: Ask): string | undefined {
  const key = ask.type === 'permission' && ask.call ? askContentKey(ask) : undefined
  return key === undefined ? undefined : `${JSON.stringify(ask.directory ?? null)} ${key}`
}

/**
 * Whether two copies of one ask show a person the same content, regardless of where the copies came from. False for
 * different copies that are nested too deeply.
 */
export function hasSameContent(a: Ask, b: Ask): boolean {
  if (a === b) return true
  const key = askContentKey(a)
  return key !== undefined && key === askContentKey(b)
}

const cachedKeys = new WeakMap<Ask, { readonly key: string | undefined }>()

/** Everything a person decides about, as one string. Undefined if it is nested too deeply. */
function askContentKey(ask: Ask): string | undefined {
  const cached = cachedKeys.get(ask)
  if (cached) return cached.key
  const key = canonicalJson(ask.type === 'question' ? ask.questions : permissionContent(ask), 0)
  cachedKeys.set(ask, { key })
  return key
}

/** Its fields without ids, status and times. */
function permissionContent({ permission, patterns, always, metadata, call }: PermissionAsk): unknown {
  return [permission, patterns, always, metadata, call && [call.tool, call.input]]
}

/** JSON with sorted keys. Undefined if the value is nested too deeply. */
function canonicalJson(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (depth >= maxDepth) return undefined
  if (Array.isArray(value))
    return joinIfComplete(
      '[',
      value.map((item) => canonicalJson(item, depth + 1)),
      ']',
    )
  const fields = Object.entries(value).filter(([, item]) => item !== undefined)
  const sorted = fields.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const texts = sorted.map(([key, item]) => {
    const text = canonicalJson(item, depth + 1)
    return text === undefined ? undefined : `${JSON.stringify(key)}:${text}`
  })
  return joinIfComplete('{', texts, '}')
}

/** The texts joined by commas, between `open` and `close`. Undefined if one of the texts is. */
function joinIfComplete(open: string, texts: readonly (string | undefined)[], close: string): string | undefined {
  return texts.includes(undefined) ? undefined : `${open}${texts.join(',')}${close}`
}
