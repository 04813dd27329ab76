import { PortError } from '@reply/sink/channel'
import * as z from 'zod'

const schema = z.object({ id: z.string() })
const named = z.object({ username: z.string() })
const ready = z.object({ t: z.literal('READY') })
const connected = z.object({ t: z.enum(['READY', 'RESUMED']) })

/** The bot's name in its own account. */
export function accountIn(account: unknown): string {
  const { data } = named.safeParse(account)
  return `@${data?.username ?? 'unknown'}`
}

/** The posted message's id. Throws `ambiguous` without one, because the message may or may not have been posted. */
export function idIn(posted: unknown, call: string): string {
  const { data } = schema.safeParse(posted)
  if (data) return data.id
  throw new PortError('ambiguous', `${call}: the response contains no message id.`)
}

/** Discord began a new session: what happened before it is not replayed. A session that resumes gets `RESUMED`. */
export function isReady(packet: unknown): boolean {
  return ready.safeParse(packet).success
}

/** Discord began a session, or goes on with one: events come from now on. */
export function isConnected(packet: unknown): boolean {
  return connected.safeParse(packet).success
}

const snowflake = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform(BigInt)

/** https://docs.discord.com/developers/resources/channel#channel-object */
const channel = z.object({ type: z.number().optional(), last_message_id: snowflake.nullish() })

/** A channel's type, and the id of its newest message. */
export function channelIn(value: unknown): { readonly type: number | undefined; readonly newest: bigint | undefined } {
  const { type, last_message_id: newest } = channel.parse(value)
  return { type, newest: newest ?? undefined }
}

const list = z.array(z.looseObject({ id: snowflake }))

/** A list of messages, oldest first: Discord lists the newest first. */
export function messagesIn(value: unknown): readonly { readonly id: bigint; readonly message: object }[] {
  const messages = list.parse(value)
  const read = messages.map(({ id, ...message }) => ({ id, message: { ...message, id: String(id) } }))
  return read.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
