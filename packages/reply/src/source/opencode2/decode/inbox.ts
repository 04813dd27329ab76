import { isFields } from '../../../fields.ts'
import { inEnglish } from '../../decode/check.ts'
import { renameInputFields } from './preview-names.ts'
import { inboxSchema, type WirePrompt } from './schema.ts'

/** An input that a session has not taken yet. */
export interface InboxRead {
  readonly id: string
  /** `user` is a prompt. */
  readonly type: string
  readonly payload: WirePrompt
  /** In ms since the epoch by the server's clock. */
  readonly createdAt: number | undefined
}

/** Converts a list of waiting inputs. Drops malformed ones. */
export function toReadInbox(items: readonly unknown[]): readonly InboxRead[] {
  return items.flatMap((item) => {
    const input = isFields(item) ? inboxSchema.safeParse(renameInputFields(item), inEnglish) : undefined
    if (!input?.success) return []
    const { id, type, payload = {}, time } = input.data
    return [{ id, type, payload, createdAt: time?.created }]
  })
}
