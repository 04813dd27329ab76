import { PortError } from '@reply/sink/channel'
import * as z from 'zod'

const schema = z.object({ id: z.string() })

/** The bot's name in its own account. */
export function accountIn(account: unknown): string {
  const { data } = z.object({ username: z.string() }).safeParse(account)
  return `@${data?.username ?? 'unknown'}`
}

/** The posted message's id. Throws `ambiguous` without one, because the message may or may not have been posted. */
export function idIn(posted: unknown, call: string): string {
  const { data } = schema.safeParse(posted)
  if (data) return data.id
  throw new PortError('ambiguous', `${call}: the response contains no message id.`)
}
