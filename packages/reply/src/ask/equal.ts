import type { Ask, PermissionAsk, QuestionAsk } from '../ask.ts'

/** Values nested deeper never compare equal: at worst, a person is asked twice. */
const maxDepth = 256

/**
 * Whether one answer may settle both asks: two permissions that would run the same thing. Requires equal directory,
 * permission, patterns, `always`, metadata, and tool and input of the calls; both calls must be known.
 */
export function isEqualAsk(a: Ask, b: Ask): boolean {
  const key = equalKey(a)
  return key !== undefined && key === equalKey(b)
}

/** The same key for equal asks. Undefined if the ask can't equal another one. */
export function equalKey(ask: Ask): string | undefined {
  const key = ask.type === 'permission' && ask.call ? contentKey(ask) : undefined
  return key === undefined ? undefined : `${JSON.stringify(ask.directory ?? null)} ${key}`
}

/** Whether two copies of one ask show a person the same content, regardless of where the copies came from. */
export function hasSameContent(a: Ask, b: Ask): boolean {
  if (a === b) return true
  const key = contentKey(a)
  return key !== undefined && key === contentKey(b)
}

const knownKeys = new WeakMap<Ask, { readonly key: string | undefined }>()

/** Everything a person decides about, as one string. */
function contentKey(ask: Ask): string | undefined {
  const known = knownKeys.get(ask)
  if (known) return known.key
  const key = textOf(ask.type === 'question' ? questionContent(ask) : permissionContent(ask), 0)
  knownKeys.set(ask, { key })
  return key
}

function permissionContent({ permission, patterns, always, metadata, call }: PermissionAsk): unknown {
  return [permission, patterns, always, metadata, call && [call.tool, call.input]]
}

function questionContent({ questions }: QuestionAsk): unknown {
  return questions
}

/** JSON with sorted keys. Undefined if the value is nested too deeply. */
function textOf(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (depth >= maxDepth) return undefined
  if (Array.isArray(value))
    return joined(
      '[',
      value.map((item) => textOf(item, depth + 1)),
      ']',
    )
  const fields = Object.entries(value).filter(([, item]) => item !== undefined)
  const sorted = fields.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const texts = sorted.map(([key, item]) => {
    const text = textOf(item, depth + 1)
    return text === undefined ? undefined : `${JSON.stringify(key)}:${text}`
  })
  return joined('{', texts, '}')
}

function joined(open: string, texts: readonly (string | undefined)[], close: string): string | undefined {
  return texts.includes(undefined) ? undefined : `${open}${texts.join(',')}${close}`
}
