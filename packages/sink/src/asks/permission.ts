import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { type AskDetail, askDetails, askTitle, escapeDeceptive, type PermissionAsk } from '@reply/core'
import { base64url } from '../base64url.ts'
import { permissionKey } from '../ledger/keys.ts'
import type { Texts } from '../texts.ts'

export type { AskDetail }

/** Characters of a digest: 96 bits, too many to find a collision by trying. */
const digestLength = 16

const digests = new WeakMap<PermissionAsk, string>()

/**
 * Returns a digest of everything that a permission would allow. Another command, pattern or input gives another digest.
 * Cached by the ask.
 */
export function digestOf(ask: PermissionAsk): string {
  const known = digests.get(ask)
  if (known !== undefined) return known
  const { permission, title, patterns, always, metadata, call } = ask
  const digest = digestOfText(JSON.stringify(canonicalForm({ permission, title, patterns, always, metadata, call })))
  digests.set(ask, digest)
  return digest
}

/** Returns the beginning of the text's SHA-256, in base64url. */
export function digestOfText(text: string): string {
  return base64url(sha256(utf8ToBytes(text))).slice(0, digestLength)
}

/** Returns the key of a permission's card. Changed content makes another card, with its own messages. */
export function permissionCardKey(ask: PermissionAsk): string {
  return permissionKey(ask.requestID, digestOf(ask))
}

/** Whether the input of the call is known. */
export function isInputKnown(ask: PermissionAsk): boolean {
  return askDetails(ask) !== undefined
}

/** Returns the details of the call to show. While its input is unknown, returns its patterns and metadata. */
export function detailsOf(ask: PermissionAsk, texts: Texts): readonly AskDetail[] {
  const known = askDetails(ask)
  if (known) return known
  const { metadata } = ask
  const title = askTitle(ask)
  const patterns = ask.patterns.filter((pattern) => !title.includes(escapeDeceptive(pattern)))
  return [
    ...(patterns.length > 0
      ? [
          {
            label: texts.patterns,
            format: 'text' as const,
            text: patterns.map((pattern) => escapeDeceptive(pattern)).join('\n'),
          },
        ]
      : []),
    ...(Object.keys(metadata).length > 0
      ? [
          {
            label: texts.metadata,
            format: 'code' as const,
            text: escapeDeceptive(JSON.stringify(withoutDeepLevels(metadata), undefined, 2)),
          },
        ]
      : []),
  ]
}

/** Levels of metadata shown while the input is unknown. */
const shownLevels = 64

/** Replaces levels below `shownLevels` by "…". Indented, the text would grow with the square of its depth. */
function withoutDeepLevels(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth >= shownLevels) return '…'
  if (Array.isArray(value)) return value.map((one) => withoutDeepLevels(one, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutDeepLevels(field, depth + 1)]))
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
