import { createHash } from 'node:crypto'
import type { PermissionAsk } from '@reply/core'

/** Letters of a digest: 96 bits, which cannot be met by trying. */
const digestLength = 16

const digests = new WeakMap<PermissionAsk, string>()

/** Names all that a permission would allow: another command, pattern or input has another digest. */
export function digestOf(ask: PermissionAsk): string {
  const known = digests.get(ask)
  if (known !== undefined) return known
  const { permission, title, patterns, always, metadata } = ask
  const content = sorted({ permission, title, patterns, always, metadata })
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, digestLength)
  digests.set(ask, digest)
  return digest
}

/** The card of a permission. Other content makes it another card, with messages of its own. */
export function permissionKey(ask: PermissionAsk): string {
  return `ask:${ask.requestID}:${digestOf(ask)}`
}

/** What it would run is known. */
export function isInputKnown(_ask: PermissionAsk): boolean {
  return true
}

/** The same value for the same JSON, in whatever order its keys came. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, field]) => [key, sorted(field)])
}
