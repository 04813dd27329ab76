import { createHash } from 'node:crypto'
import type { Inbound } from '@reply/sink'
import { isAskToken } from '@reply/sink/channel'
import * as z from 'zod'
import type { Read } from '../inbound.ts'
import { chatOf, refOf } from '../place.ts'
import { ids } from '../port/blocks.ts'
import { readControl } from './control.ts'
import { readForm, readMetadata, stateSchema, toState } from './form.ts'

const user = z.object({ id: z.string(), name: z.string().optional(), username: z.string().optional() })

const action = z.object({
  action_id: z.string(),
  block_id: z.string(),
  value: z.string().optional(),
  selected_option: z.object({ value: z.string() }).nullish(),
})

const acted = z.object({
  type: z.literal('block_actions'),
  user,
  trigger_id: z.string(),
  channel: z.object({ id: z.string() }),
  message: z.object({ ts: z.string(), thread_ts: z.string().optional() }).optional(),
  // A message that only one person can see is named here alone.
  container: z.object({ message_ts: z.string().optional(), thread_ts: z.string().optional() }).optional(),
  actions: z.array(z.unknown()).min(1),
})

const submitted = z.object({
  type: z.literal('view_submission'),
  user,
  trigger_id: z.string().optional(),
  view: z.object({
    id: z.string(),
    callback_id: z.literal(ids.form),
    private_metadata: z.string(),
    state: stateSchema,
  }),
})

const typed = z.object({ type: z.string() })

/** Reads a control's action or a dialog's submission. Returns undefined if unreadable. */
export function readAction(value: unknown): Read | undefined {
  const { type } = typed.safeParse(value).data ?? {}
  if (type === 'view_submission') return readSubmission(value)
  if (type !== 'block_actions') return type === undefined ? undefined : { id: '', received: undefined }
  const press = acted.safeParse(value)
  const ts = press.data?.message?.ts ?? press.data?.container?.message_ts
  // An action in a dialog or a home tab: it has no chat.
  if (!press.success || ts === undefined) return { id: '', received: undefined }
  const { message, container, channel, user: by, trigger_id, actions } = press.data
  const place = {
    // Must equal the chat of the sink that asked, which has no thread outside of threads.
    chat: chatOf(channel.id, message?.thread_ts ?? container?.thread_ts),
    actor: { id: by.id, name: by.name || by.username || by.id },
    messageRef: refOf(ts),
  }
  return { id: idOf(trigger_id), received: pressOf(actions[0], { ...place, trigger: trigger_id }) }
}

/** Ids are stored. A trigger opens a dialog for 3 s, so its hash is. */
function idOf(trigger: string): string {
  return createHash('sha256').update(trigger).digest('base64url')
}

type Place = Pick<Extract<Inbound, { type: 'press' }>, 'chat' | 'actor' | 'messageRef'> & { readonly trigger: string }

function pressOf(given: unknown, { trigger, ...press }: Place): Read['received'] {
  const control = readControl(given)
  if (control && !isOurs(control.id)) {
    const { id, values } = control
    return { type: 'press', ...press, token: id, ...(values.length > 0 && { values: [values] }), isForeign: true }
  }
  const { data } = action.safeParse(given)
  if (!data) return undefined
  const { action_id, block_id, value, selected_option } = data
  if (action_id.startsWith(`${ids.button}.`) && value !== undefined)
    return { type: 'press', ...press, token: value, ...(!isAskToken(value) && { isForeign: true }) }
  if (action_id === ids.select && selected_option) {
    const token = block_id.slice(`${ids.select}:`.length)
    return { type: 'press', ...press, token, values: [[selected_option.value]] }
  }
  const read = action_id === ids.form && value !== undefined ? readForm(value) : undefined
  return read && { type: 'open', ...press, ...read, trigger }
}

function isOurs(id: string): boolean {
  return id.startsWith(`${ids.button}.`) || id === ids.select || id === ids.form
}

/** Any dialog. Those of the host may have fields of any kind. */
const anyDialog = z.object({ view: z.object({ id: z.string(), callback_id: z.unknown().optional() }) })

function readSubmission(value: unknown): Read | undefined {
  const dialog = anyDialog.safeParse(value).data?.view
  if (dialog && dialog.callback_id !== ids.form) return { id: dialog.id, received: undefined }
  const { data } = submitted.safeParse(value)
  if (!data) return undefined
  const { view, user: by } = data
  const id = idOf(data.trigger_id ?? view.id)
  const read = readMetadata(view.private_metadata)
  if (!read) return { id, received: undefined }
  const { token, form, place } = read
  return {
    id,
    received: {
      type: 'filled',
      chat: chatOf(place.channel, place.thread),
      actor: { id: by.id, name: by.name || by.username || by.id },
      messageRef: refOf(place.message),
      ...{ token, form },
      state: toState(view.state),
    },
  }
}
