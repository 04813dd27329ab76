import * as z from 'zod'

const option = z.object({ value: z.string() })
const text = z.string().nullish()
const texts = z.array(z.string()).nullish()

/**
 * A control of the host's own, of any kind. What was picked or written has a field for each kind of element: see
 * https://docs.slack.dev/reference/block-kit/block-elements and `BlockElementAction` of @slack/bolt.
 */
const control = z.object({
  action_id: z.string(),
  value: z.unknown().optional(),
  selected_option: option.nullish(),
  selected_options: z.array(option).nullish(),
  ...{ selected_user: text, selected_conversation: text, selected_channel: text },
  ...{ selected_users: texts, selected_conversations: texts, selected_channels: texts },
  ...{ selected_date: text, selected_time: text, selected_date_time: z.number().nullish() },
})

/** A control's `action_id`, and what was picked or written. */
export interface Control {
  readonly id: string
  readonly values: readonly string[]
}

/** Returns undefined if the value isn't a control's action. */
export function readControl(value: unknown): Control | undefined {
  const { data } = control.safeParse(value)
  if (!data) return undefined
  const { action_id: id, value: written, selected_option, selected_options, selected_date_time: at, ...more } = data
  const options = [selected_option, ...(selected_options ?? [])].flatMap((one) => (one ? [one.value] : []))
  const picked = Object.values(more).flatMap((one) => one ?? [])
  const times = typeof at === 'number' ? [String(at)] : []
  return { id, values: [...(typeof written === 'string' ? [written] : []), ...options, ...picked, ...times] }
}
