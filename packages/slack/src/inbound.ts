import { createHash } from 'node:crypto'
import type { Actor, Inbound, InboundFile } from '@reply/sink'
import { type Form, isAskToken } from '@reply/sink/channel'
import { jsonOf, utf8Of } from '@reply/sink/internal'
import * as z from 'zod'
import { chatOf, refOf } from './api.ts'
import { type FormPlace, type FormState, fields, ids } from './form.ts'

type Press = Omit<Extract<Inbound, { type: 'press' }>, 'answer'>

/** A parsed event, without the `answer` function yet. */
export type Received =
  | (Omit<Extract<Inbound, { type: 'text' }>, 'answer'> & {
      /** True if it mentions the bot or is a direct message. */
      readonly isAddressed: boolean
    })
  | Press
  /** The button of a form was pressed, to open its dialog. */
  | (Omit<Press, 'type'> & { readonly type: 'open'; readonly form: Form | undefined; readonly trigger: string })
  | (Omit<Press, 'type'> & { readonly type: 'filled'; readonly form: Form | undefined; readonly state: FormState })
  | Extract<Inbound, { type: 'stop' }>

export interface ParsedBody {
  /** Equal for redeliveries, and for the several events of one message. */
  readonly id: string
  /** Undefined for events that a channel ignores: joins, other bots, the host's own dialogs and commands. */
  readonly received: Received | undefined
}

const typed = z.object({ type: z.string() })
const ofApp = z.object({ api_app_id: z.string() })

/** Reads an event's body, an interaction's payload or an own slash command. Returns undefined for anything else. */
export function readBody(body: unknown, isOwnCommand: (name: string) => boolean = () => false): ParsedBody | undefined {
  if (isCommand(body)) return readCommand(body, isOwnCommand)
  const { type } = typed.safeParse(body).data ?? {}
  return type === 'event_callback' ? readEvent(body) : readAction(body)
}

/** Returns the id of the app that a body is for. Empty if it has none. */
export function appIdOf(body: unknown): string {
  return ofApp.safeParse(body).data?.api_app_id ?? ''
}

/** A request's content: the challenge of a URL verification, a certificate check, or an event. */
export type RequestBody =
  | { readonly type: 'challenge'; readonly challenge: string }
  | { readonly type: 'check' }
  | { readonly type: 'body'; readonly body: unknown }

const challenge = z.object({ type: z.literal('url_verification'), challenge: z.string() })

/**
 * Parses the body of a request: events are JSON, interactions JSON in a form field, slash commands a form. Undefined for
 * anything else.
 */
export function readRequest(bytes: Uint8Array): RequestBody | undefined {
  const text = utf8Of(bytes) ?? ''
  const form = new URLSearchParams(/^\s*[[{]/.test(text) ? '' : text)
  if (isCheck(form)) return { type: 'check' }
  const command = Object.fromEntries(form)
  if (isCommand(command)) return { type: 'body', body: command }
  const body = jsonOf(form.get('payload') ?? text)
  if (typeof body !== 'object' || body === null) return undefined
  const { data } = challenge.safeParse(body)
  return data ? { type: 'challenge', challenge: data.challenge } : { type: 'body', body }
}

/**
 * Whether the form is a certificate check. Slack checks the certificate of a command's URL with a POST that only needs a
 * 200. https://docs.slack.dev/interactivity/implementing-slash-commands
 */
function isCheck(form: URLSearchParams): boolean {
  return form.get('ssl_check') === '1' && !form.has('command') && !form.has('payload')
}

const envelope = z.object({
  /** Absent if another program forwards the event, or if it comes from a classic Slack app. */
  event_id: z.string().optional(),
  team_id: z.string().optional(),
  authorizations: z.array(z.object({ user_id: z.string().optional() })).optional(),
  event: z.object({ type: z.string() }).loose(),
})

const profile = z.object({ display_name: z.string().optional(), real_name: z.string().optional() })

/** For some files an event only has the id. https://docs.slack.dev/reference/objects/file-object */
const file = z.object({
  id: z.string(),
  name: z.string().nullish(),
  mimetype: z.string().optional(),
  subtype: z.string().optional(),
  size: z.number().optional(),
  /** Of clips, in ms. From the response types of `@slack/web-api`. */
  duration_ms: z.number().optional().catch(undefined),
  url_private: z.string().optional(),
  url_private_download: z.string().optional(),
  mode: z.string().optional(),
  is_external: z.boolean().optional(),
})

/**
 * Why Slack doesn't provide a file, by its mode. `tombstone`: https://github.com/wee-slack/wee-slack/pull/641. The message keeps
 * such a file, so that the person is told instead of getting an answer that ignores it.
 */
const withheld: ReadonlyMap<string | undefined, string> = new Map([
  ['tombstone', 'it was deleted from Slack.'],
  ['hidden_by_limit', "Slack hides it, because it is too old for the workspace's plan."],
  ['external', "another service stores it, so it can't be downloaded from Slack. Upload the file itself."],
])

/** Returns why Slack doesn't provide the file with this `ref`. Undefined if it may. */
export function whyWithheld(ref: string): string | undefined {
  return withheld.get(ref.split(':', 1).join(''))
}

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
 * Subtypes of messages with a person's text. The rest are edits, joins and the like. `me_message` is written with
 * `/me`: https://docs.slack.dev/reference/events/message/me_message
 */
const personalSubtypes: ReadonlySet<string | undefined> = new Set([
  undefined,
  'file_share',
  'thread_broadcast',
  'me_message',
])

/**
 * Reads an event callback. Returns undefined if it isn't one or lacks required fields. Event types that a channel ignores
 * have nothing received.
 */
function readEvent(value: unknown): ParsedBody | undefined {
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
  const posted = message.safeParse(event).data
  if (!posted) return undefined
  const bot = data.authorizations?.[0]?.user_id
  return {
    id: `${posted.channel}/${posted.ts}`,
    received: receivedIn(posted, { bot, team: data.team_id, type: event.type }),
  }
}

/**
 * Returns the text of a message without mentions of the bot, and its files. Undefined for bots' messages,
 * edits and joins, and for a message with neither text nor file, for example with nothing but a mention.
 */
function receivedIn(
  posted: z.infer<typeof message>,
  { bot, team, type }: { readonly bot: string | undefined; readonly team: string | undefined; readonly type: string },
): ParsedBody['received'] {
  const { user, text = '', channel, ts, thread_ts: thread } = posted
  // Ignores messages from bots, including this one.
  if (user === undefined || user === bot || posted.bot_id !== undefined || !personalSubtypes.has(posted.subtype))
    return undefined
  const mark = bot === undefined ? undefined : `<@${bot}>`
  const isNamed = type === 'app_mention' || (mark !== undefined && text.includes(mark))
  const stripped = readText(mark === undefined ? text : text.replaceAll(`${mark} `, '').replaceAll(mark, '')).trim()
  const files = posted.files.map(inboundFileOf)
  // Nothing but a mention.
  if (stripped === '' && files.length === 0) return undefined
  return {
    type: 'text',
    // A message outside of threads starts one.
    chat: chatOf(channel, thread ?? ts),
    actor: withTeam(actorOf(user, posted.user_profile), posted.user_team ?? posted.team ?? team),
    text: stripped,
    messageRef: refOf(ts),
    ...(isNamed && { isMention: true as const }),
    ...(bot !== undefined && posted.parent_user_id === bot && { repliesToBot: true as const }),
    ...(files.length > 0 && { files }),
    // Text written with a forwarded message is about that message.
    ...(posted.attachments.some(({ is_share }) => is_share) && { isForwarded: true as const }),
    isCommand: stripped.startsWith('/'),
    isAddressed: isNamed || posted.channel_type === 'im',
  }
}

/**
 * Returns a file as the host gets it. Its `ref` is its address, or its id if the event has no address, with the mode before it if
 * Slack doesn't provide it. A voice clip is audio, also if Slack calls its container a video: https://github.com/openclaw/openclaw/pull/14941
 */
function inboundFileOf({
  id,
  name,
  mimetype,
  subtype,
  size,
  duration_ms: duration,
  url_private_download,
  url_private,
  mode,
  is_external,
}: z.infer<typeof file>): InboundFile {
  const kept = is_external ? 'external' : mode
  const mime = mimetype || 'application/octet-stream'
  return {
    ref: withheld.has(kept) ? `${kept}:${id}` : (url_private_download ?? url_private ?? id),
    name: name || id,
    mime: subtype === 'slack_audio' ? mime.replace(/^video\//, 'audio/') : mime,
    ...(size !== undefined && { size }),
    ...(duration !== undefined && { seconds: duration / 1000 }),
  }
}

/** Returns a person with the display name, or else the real name or the id. */
function actorOf(
  id: string,
  profile: { display_name?: string | undefined; real_name?: string | undefined } | undefined,
): Actor {
  return { id, name: profile?.display_name || profile?.real_name || id }
}

/** Returns the person with their workspace, if that is known. */
function withTeam(person: Actor, teamID: string | undefined): Actor {
  return teamID === undefined ? person : { ...person, teamID }
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

/** https://docs.slack.dev/interactivity/implementing-slash-commands#app_command_handling */
const slashCommand = z.object({
  command: z.string().startsWith('/'),
  text: z.string().default(''),
  user_id: z.string(),
  user_name: z.string().optional(),
  team_id: z.string().optional(),
  channel_id: z.string(),
  trigger_id: z.string(),
})

const commandLike = z.object({ command: z.string() })

/** Whether a body is a slash command. Those have no `type`. */
function isCommand(body: unknown): boolean {
  return commandLike.safeParse(body).success
}

/**
 * Reads a slash command as a text, for example "/ask Why?". Undefined for anything else. One for which `isOwn` returns false
 * is left to the host, so it has nothing received.
 */
function readCommand(body: unknown, isOwn: (name: string) => boolean): ParsedBody | undefined {
  const { data } = slashCommand.safeParse(body)
  if (!data) return undefined
  const { command, text, user_id: id, user_name: name, team_id: teamID, channel_id, trigger_id } = data
  if (!isOwn(command.slice(1))) return { id: trigger_id, received: undefined }
  return {
    id: trigger_id,
    received: {
      type: 'text',
      // Slack has no commands in threads and shows no message for them, so there is nothing to reply to.
      chat: chatOf(channel_id, undefined),
      actor: withTeam({ id, name: name || id }, teamID),
      text: readText(`${command} ${text}`).trim(),
      messageRef: { id: trigger_id },
      isCommand: true,
      isAddressed: true,
    },
  }
}

const info = z.object({
  file: z.object({ url_private: z.string().optional(), url_private_download: z.string().optional() }),
})

const described = z.object({ file })

/** Whether an event only has the id of a file, as those of other workspaces come: https://docs.slack.dev/apis/slack-connect */
export function isBareFile({ ref, name }: InboundFile): boolean {
  return ref === name
}

/** Returns the file in a response of `files.info`. Undefined without one. */
export function fileInfoOf(response: unknown): InboundFile | undefined {
  const { data } = described.safeParse(response)
  return data && inboundFileOf(data.file)
}

/** Returns the address of a file in a response of `files.info`. Undefined without one. */
export function downloadUrlOf(response: unknown): string | undefined {
  const { file } = info.safeParse(response).data ?? {}
  return file?.url_private_download ?? file?.url_private
}

const named = z.object({ user: z.string() })

/** Returns the bot's name in a response of `auth.test`, with an `@`. `@unknown` if the response has none. */
export function accountNameOf(response: unknown): string {
  const { data } = named.safeParse(response)
  return `@${data?.user ?? 'unknown'}`
}

const inWorkspace = z.object({ url: z.url({ protocol: /^https$/ }) })

/** Returns the address of the workspace in a response of `auth.test`. Undefined if it has none. */
export function workspaceOf(response: unknown): string | undefined {
  return inWorkspace.safeParse(response).data?.url
}

const option = z.object({ value: z.string() })

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
  // The only reference to a message that only one person can see.
  container: z.object({ message_ts: z.string().optional(), thread_ts: z.string().optional() }).optional(),
  actions: z.array(z.unknown()).min(1),
})

const field = z.object({
  value: z.string().nullish(),
  selected_option: option.nullish(),
  selected_options: z.array(option).optional(),
})

/** A view's state, by block id and action id. */
const stateSchema = z.object({ values: z.record(z.string(), z.record(z.string(), field)) })

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

/**
 * Reads a control's action or a dialog's submission. Returns undefined without a `type`, and for a submission that can't be
 * read. Other interactions, and actions outside of a message, have nothing received.
 */
function readAction(value: unknown): ParsedBody | undefined {
  const { type } = typed.safeParse(value).data ?? {}
  if (type === 'view_submission') return readSubmission(value)
  if (type !== 'block_actions') return type === undefined ? undefined : { id: '', received: undefined }
  const press = acted.safeParse(value)
  const ts = press.data?.message?.ts ?? press.data?.container?.message_ts
  // An action in a dialog or a home tab has no chat.
  if (!press.success || ts === undefined) return { id: '', received: undefined }
  const { message, container, channel, user: by, trigger_id, actions } = press.data
  const place = {
    // Must equal the chat of the sink that asked, which has no thread outside of threads.
    chat: chatOf(channel.id, message?.thread_ts ?? container?.thread_ts),
    actor: { id: by.id, name: by.name || by.username || by.id },
    messageRef: refOf(ts),
  }
  return { id: hashTrigger(trigger_id), received: pressOf(actions[0], { ...place, trigger: trigger_id }) }
}

/** Returns the hash of a trigger, because ids are stored and a trigger can open a dialog for 3 s. */
function hashTrigger(trigger: string): string {
  return createHash('sha256').update(trigger).digest('base64url')
}

type PressPlace = Pick<Extract<Inbound, { type: 'press' }>, 'chat' | 'actor' | 'messageRef'> & {
  readonly trigger: string
}

/**
 * Returns a press, or for a form's button that its dialog is to open. A press of the host's control is foreign. Undefined if
 * unreadable.
 */
function pressOf(rawAction: unknown, { trigger, ...press }: PressPlace): ParsedBody['received'] {
  const control = readControl(rawAction)
  if (control && !isOwnControl(control.id)) {
    const { id, values } = control
    return { type: 'press', ...press, token: id, ...(values.length > 0 && { values: [values] }), isForeign: true }
  }
  const { data } = action.safeParse(rawAction)
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

/** Whether the `action_id` is of one of this package's controls. */
function isOwnControl(id: string): boolean {
  return id.startsWith(`${ids.button}.`) || id === ids.select || id === ids.form
}

/** Any dialog. The host's dialogs may have other fields. */
const anyDialog = z.object({ view: z.object({ id: z.string(), callback_id: z.unknown().optional() }) })

/** Reads the submission of a form's dialog. The host's own dialogs have nothing received. */
function readSubmission(value: unknown): ParsedBody | undefined {
  const dialog = anyDialog.safeParse(value).data?.view
  if (dialog && dialog.callback_id !== ids.form) return { id: dialog.id, received: undefined }
  const { data } = submitted.safeParse(value)
  if (!data) return undefined
  const { view, user: by } = data
  const id = hashTrigger(data.trigger_id ?? view.id)
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
      token,
      form,
      state: formStateOf(view.state),
    },
  }
}

const text = z.string().nullish()
const texts = z.array(z.string()).nullish()

/**
 * A control of the host. The picked or written value has a field for each kind of element: see
 * https://docs.slack.dev/reference/block-kit/block-elements and `BlockElementAction` of @slack/bolt.
 */
const control = z.object({
  action_id: z.string(),
  value: z.unknown().optional(),
  selected_option: option.nullish(),
  selected_options: z.array(option).nullish(),
  selected_user: text,
  selected_conversation: text,
  selected_channel: text,
  selected_users: texts,
  selected_conversations: texts,
  selected_channels: texts,
  selected_date: text,
  selected_time: text,
  selected_date_time: z.number().nullish(),
})

/** A control's `action_id`, and its picked or written values. */
interface Control {
  readonly id: string
  readonly values: readonly string[]
}

/** Returns the id and the values of a control. Undefined if the value isn't a control's action. */
function readControl(value: unknown): Control | undefined {
  const { data } = control.safeParse(value)
  if (!data) return undefined
  const { action_id: id, value: written, selected_option, selected_options, selected_date_time: at, ...more } = data
  const options = [selected_option, ...(selected_options ?? [])].flatMap((one) => (one ? [one.value] : []))
  const picked = Object.values(more).flatMap((one) => one ?? [])
  const times = typeof at === 'number' ? [String(at)] : []
  return { id, values: [...(typeof written === 'string' ? [written] : []), ...options, ...picked, ...times] }
}

const question = z.object({
  h: z.string(),
  q: z.string(),
  o: z.array(z.tuple([z.string()], z.string())),
  m: z.literal(1).optional(),
  c: z.literal(1).optional(),
})

const formSchema = z.object({ t: z.string(), l: z.string().optional(), q: z.array(question).optional() })

const metadata = z.object({
  f: z.string(),
  p: z.object({ channel: z.string(), thread: z.string().optional(), message: z.string() }),
})

/** A button's form. `form` is undefined if it was too long to be stored. */
interface ReadForm {
  readonly token: string
  readonly form: Form | undefined
}

/**
 * Decodes a button's form. Undefined if `encodeForm` did not write the value. Without the questions if only the token had room
 * there.
 */
export function readForm(value: string): ReadForm | undefined {
  const { data } = formSchema.safeParse(jsonOf(value))
  if (!data) return undefined
  const questions = data.q?.map(({ h, q, o, m, c }) => ({
    header: h,
    question: q,
    multiple: m === 1,
    custom: c === 1,
    options: o.map(([label, description = '']) => ({ label, description })),
  }))
  return { token: data.t, form: questions && { token: data.t, label: data.l ?? '', questions } }
}

/** Decodes a dialog's `private_metadata`. Undefined if it has none of a form. */
export function readMetadata(value: string): (ReadForm & { readonly place: FormPlace }) | undefined {
  const { data } = metadata.safeParse(jsonOf(value))
  const read = data && readForm(data.f)
  return read && { ...read, place: { ...data.p, thread: data.p.thread } }
}

/** Returns access to the picked and written values of a dialog, by the question's index. */
function formStateOf({ values }: z.infer<typeof stateSchema>): FormState {
  return {
    picked: (index) => {
      const found = values[fields.picked(index)]?.picked
      const options = found?.selected_options ?? (found?.selected_option ? [found.selected_option] : [])
      return options.map(({ value }) => Number(value))
    },
    written: (index) => values[fields.written(index)]?.written?.value ?? '',
  }
}
