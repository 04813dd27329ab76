import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import type { Ask } from '../ask.ts'
import { base64url } from '../text/base64url.ts'

/** Characters of a digest: 96 bits, too many to find a collision by trying. */
const digestLength = 16

const digests = new WeakMap<Ask, string>()

/**
 * Returns a digest of everything that a person decides about: what a permission would allow, or what is asked. Another
 * command, pattern, input or option gives another digest. Cached by the ask.
 */
export function askDigest(ask: Ask): string {
  const known = digests.get(ask)
  if (known !== undefined) return known
  const digest = digestOfText(JSON.stringify(canonicalForm(decisionOf(ask))))
  digests.set(ask, digest)
  return digest
}

/** Returns the beginning of the text's SHA-256, in base64url. */
export function digestOfText(text: string): string {
  return base64url(sha256(utf8ToBytes(text))).slice(0, digestLength)
}

/** The fields of an ask that a person decides about. */
function decisionOf(ask: Ask): unknown {
  if (ask.type === 'question') return { questions: ask.questions }
  const { permission, title, patterns, always, metadata, call } = ask
  return { permission, title, patterns, always, metadata, call }
}

/** Levels of a value that count for its digest. Deeper values have no details, so they are allowed unseen or not at all. */
const deepest = 300

/**
 * Returns a value that has the same text for equal JSON in any order of keys. Below `deepest` levels, all objects are equal.
 */
function canonicalForm(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > deepest) return 'deep'
  if (Array.isArray(value)) return value.map((one) => canonicalForm(one, depth + 1))
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return { fields: fields.map(([key, field]) => [key, canonicalForm(field, depth + 1)]) }
}
