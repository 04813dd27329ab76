import type { Actor, InboundFile } from '@reply/sink'
import * as z from 'zod'
import type { Read } from '../inbound.ts'
import { chatOf, refOf } from '../place.ts'

const envelope = z.object({
  /** Absent if another program passes an event on, or an app of Slack's earlier kind sends it. */
  event_id: z.string().optional(),
  team_id: z.string().optional(),
  authorizations: z.array(z.object({ user_id: z.string().optional() })).optional(),
  event: z.object({ type: z.string() }).loose(),
})

const profile = z.object({ display_name: z.string().optional(), real_name: z.string().optional() })

/** https://docs.slack.dev/reference/objects/file-object: of some files an event only has the id. */
const file = z.object({
  id: z.string(),
  name: z.string().nullish(),
  mimetype: z.string().optional(),
  size: z.number().optional(),
  url_private: z.string().optional(),
  url_private_download: z.string().optional(),
  mode: z.string().optional(),
  is_external: z.boolean().optional(),
})

/**
 * Files that Slack doesn't hand out. `tombstone`: deleted (https://github.com/wee-slack/wee-slack/pull/641).
 * `hidden_by_limit`: too old for the workspace's plan. `external`: another service keeps it.
 */
const withheld: ReadonlySet<string | undefined> = new Set(['tombstone', 'hidden_by_limit', 'external'])

const message = z.object({
  channel: z.string(),
  channel_type: z.string().optional(),
  ts: z.string(),
  thread_ts: z.string().optional(),
  text: z.string().optional(),
  user: z.string().optional(),
  user_team: z.string().optional(),
  team: z.string().optional(),
  user_profile: profile.optional(),
  bot_id: z.string().optional(),
  subtype: z.string().optional(),
  /** The author of the thread's first message. https://docs.slack.dev/messaging/retrieving-messages */
  parent_user_id: z.string().optional(),
  files: z.array(file).catch([]),
  /** `is_share`: a forwarded message below this text. https://github.com/slackapi/slack-skills-plugin/issues/149 */
  attachments: z.array(z.object({ is_share: z.boolean().optional() })).catch([]),
})

const stop = z.object({
  channel: z.string(),
  thread_ts: z.string().optional(),
  user: z.string(),
  event_ts: z.string().optional(),
})

/**
 * Subtypes of messages that carry a person's text; the rest are edits, joins and the like. `me_message` is written with
 * `/me`: https://docs.slack.dev/reference/events/message/me_message
 */
const spoken: ReadonlySet<string | undefined> = new Set([undefined, 'file_share', 'thread_broadcast', 'me_message'])

/** Reads an event callback. Returns undefined if it isn't one. */
export function readEvent(value: unknown): Read | undefined {
  const { data } = envelope.safeParse(value)
  if (!data) return undefined
  const { event, event_id: eventId = '' } = data
  if (event.type === 'agent_session_stopped') {
    const stopped = stop.safeParse(event).data
    if (!stopped) return undefined
    const { channel, thread_ts, user, event_ts } = stopped
    const id = eventId || `${channel}/${thread_ts ?? ''}/stopped/${event_ts ?? ''}`
    return { id, received: { type: 'stop', chat: chatOf(channel, thread_ts), actor: actorOf(user, undefined) } }
  }
  if (event.type !== 'message' && event.type !== 'app_mention') return { id: eventId, received: undefined }
  const said = message.safeParse(event).data
  if (!said) return undefined
  const bot = data.authorizations?.[0]?.user_id
  return { id: `${said.channel}/${said.ts}`, received: receivedIn(said, { bot, team: data.team_id, type: event.type }) }
}

function receivedIn(
  said: z.infer<typeof message>,
  { bot, team, type }: { readonly bot: string | undefined; readonly team: string | undefined; readonly type: string },
): Read['received'] {
  const { user, text = '', channel, ts, thread_ts: thread } = said
  // Ignores messages from bots, including this one.
  if (user === undefined || user === bot || said.bot_id !== undefined || !spoken.has(said.subtype)) return undefined
  const mark = bot === undefined ? undefined : `<@${bot}>`
  const isNamed = type === 'app_mention' || (mark !== undefined && text.includes(mark))
  const words = readText(mark === undefined ? text : text.replaceAll(`${mark} `, '').replaceAll(mark, '')).trim()
  const files = said.files.filter(({ mode, is_external }) => is_external !== true && !withheld.has(mode)).map(fileOf)
  // Only a mention.
  if (words === '' && files.length === 0) return undefined
  return {
    type: 'text',
    // A message outside of threads starts one.
    chat: chatOf(channel, thread ?? ts),
    actor: actorOf(user, said.user_profile),
    text: words,
    messageRef: refOf(ts),
    ...(isNamed && { isMention: true as const }),
    ...(bot !== undefined && said.parent_user_id === bot && { repliesToBot: true as const }),
    ...(files.length > 0 && { files }),
    // Text written with a forwarded message is about that message.
    ...(said.attachments.some(({ is_share }) => is_share) && { isForwarded: true as const }),
    isCommand: words.startsWith('/'),
    isAddressed: isNamed || said.channel_type === 'im',
    teamId: said.user_team ?? said.team ?? team,
  }
}

function fileOf({ id, name, mimetype, size, url_private_download, url_private }: z.infer<typeof file>): InboundFile {
  return {
    ref: url_private_download ?? url_private ?? id,
    name: name || id,
    mime: mimetype || 'application/octet-stream',
    ...(size !== undefined && { size }),
  }
}

function actorOf(
  id: string,
  profile: { display_name?: string | undefined; real_name?: string | undefined } | undefined,
): Actor {
  return { id, name: profile?.display_name || profile?.real_name || id }
}

/** Decodes Slack's text: three escaped characters, and people, channels and links in angle brackets. */
export function readText(text: string): string {
  const plain = text.replace(/<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>/g, (_, kind: string, target: string, label = '') => {
    if (kind === '') return target.replace(/^mailto:/, '')
    const sign = kind === '!' ? '@' : kind
    return `${sign}${(label || target).replace(/^[@#]/, '')}`
  })
  return plain.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
