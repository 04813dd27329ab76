import type { DeltaEvent } from '../../../event.ts'
import type { Frame } from './frame.ts'
import { textPartID } from './part.ts'

/** The growth of a text or thought. Undefined for all other frames. */
export function toDelta({ type, data }: Frame, at: number, raw: unknown): DeltaEvent | undefined {
  const kind = type === 'session.text.delta' ? 'text' : type === 'session.reasoning.delta' ? 'reasoning' : undefined
  if (kind === undefined) return undefined
  const { sessionID, assistantMessageID: messageID, ordinal, delta } = data
  if (typeof sessionID !== 'string' || typeof messageID !== 'string') return undefined
  if (typeof ordinal !== 'number' || typeof delta !== 'string') return undefined
  const partID = textPartID(messageID, kind, ordinal)
  return { type: 'delta', at, raw, sessionID, messageID, partID, field: 'text', delta }
}
