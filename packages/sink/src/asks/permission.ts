import { type AskDetail, askDetails, askTitle, escapeDeceptive, type PermissionAsk } from '@reply/core'
import { askDigest } from '@reply/core/internal'
import { permissionKey } from '../ledger/keys.ts'
import type { Texts } from '../texts.ts'

export type { AskDetail }

/** Returns the key of a permission's card. Changed content makes another card, with its own messages. */
export function permissionCardKey(ask: PermissionAsk): string {
  return permissionKey(ask.requestID, askDigest(ask))
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
