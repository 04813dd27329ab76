import type { Clock } from '../../clock.ts'
import { type OnError, ReplyError } from '../../error.ts'
import { isFields } from '../../fields.ts'
import type { Model } from '../../reply.ts'
import type { SessionRef } from '../../session-ref.ts'
import { createFrameReader } from '../../wire/reader.ts'
import { createFollowedDecoder } from '../decode/followed-frames.ts'
import { type FileKind, takesOf } from '../file-type.ts'
import type { Address } from '../http/address.ts'
import { readEventStream, streamHeaders } from '../http/event-stream.ts'
import { noDirectoryError } from '../http/server-errors.ts'
import { createMessageIDs } from '../message-id.ts'
import type {
  AskAddress,
  Capabilities,
  CreateInput,
  OpenCodeSource,
  SessionInfo,
  SessionQuery,
  SourceAnswer,
  SourceCommand,
  SourcePrompt,
  TakesTarget,
} from '../port.ts'
import { resolveDots } from '../resolve-dots.ts'
import { sharedRead } from '../shared-read.ts'
import { toFormAnswer } from './decode/ask.ts'
import { toChosenModel, toReadAgents, toReadCommands, toReadModels, toReadRules } from './decode/choices.ts'
import {
  dataIn,
  type ListedSession,
  listIn,
  toListedSessions,
  toReadForms,
  toReadMessages,
  toReadSession,
} from './decode/rest-responses.ts'
import { createDecoder2 } from './decode.ts'
import { requireGuard } from './guard.ts'
import { createInbox, noteMark } from './inbox.ts'
import { readAllPages, readAsks, readChildren, readSession, readWorking, startReading } from './reading.ts'
import { createRest } from './rest.ts'

export interface OpenCode2Options {
  readonly address: Address
  readonly fetch: typeof fetch
  readonly clock: Clock
  /** Returns a number from 0 to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined
  /** How long a call waits for a response, in ms. */
  readonly deadlineMs: number
  /** The maximum size of a response, in bytes. */
  readonly maxAnswerBytes: number
  /** Receives malformed items that were left out. */
  readonly onError: OnError
}

/** A heartbeat comment comes every 15 s. The vendor's own client waits for three. */
const silenceMs = 45_000

/** Creates a source for servers of OpenCode 2. Requests nothing until it is used. */
export function createOpenCode2(options: OpenCode2Options): OpenCodeSource {
  const { address, clock, onError } = options
  const decoder = createDecoder2({ onError })
  const { memory } = decoder
  const rest = createRest(options)
  const inbox = createInbox(rest)
  const readWorkingShared = sharedRead(async (_: undefined) => await readWorking(rest))
  const working = async () => await readWorkingShared(undefined)
  const reading = { rest, inbox, memory, working, clock, onError }
  const nextMessageID = createMessageIDs(options)
  /** By root session: what its runs had used when it was last listed, and when it was first listed so. */
  const usedBy = new Map<string, { readonly used: string; readonly ranAt: number | undefined }>()
  return {
    name: address.url,
    connect: ({ signal, onFrame, following }) => {
      const followed = following ? createFollowedDecoder(decoder, following) : decoder
      return readEventStream(address, clock, createFrameReader({ onError, onFrame, decoder: followed }), () =>
        options.fetch(`${address.url}/api/event`, { headers: streamHeaders(address), signal }),
      )
    },
    learn: learnCapabilities,
    startReading: () => startReading(reading),
    session: (place) => readSession(rest, place),
    message: async ({ sessionID }, messageID) => {
      const message = dataIn(await rest.get(`/session/${sessionID}/message/${messageID}`))
      return toReadMessages([message], onError)[0]
    },
    children: ({ sessionID }) => readChildren(rest, sessionID),
    working,
    asks: (directory) => readAsks(reading, directory),
    sessions: readQueriedSessions,
    newestTime: readNewestTime,
    spelled: readSpelling,
    create: createSession,
    guard: async (target) => await requireGuard(rest, address.url, target),
    prompt: postPrompt,
    command: postCommand,
    waiting: ({ sessionID }) => inbox.prompts(sessionID),
    withdraw: ({ sessionID }, messageID) => inbox.withdraw(sessionID, messageID),
    answer: answerAsk,
    reject: rejectAsk,
    abort: async ({ sessionID }) => void (await rest.post(`/session/${sessionID}/interrupt`)),
    models: async (directory) => toReadModels(await readList('/model', directory)),
    takes: readTakes,
    agents: async (directory) => toReadAgents(await readList('/agent', directory)),
    commands: async (directory) => toReadCommands(await readList('/command', directory)),
    savedRules: async () => toReadRules(listIn(await rest.get('/permission/saved'))),
    removeRule,
    fork: async ({ sessionID }, messageID) =>
      toCreatedSession(
        await rest.post(`/session/${sessionID}/fork`, { body: messageID === undefined ? {} : { messageID } }),
      ),
    revert: async ({ sessionID }, messageID) =>
      void (await rest.post(`/session/${sessionID}/revert/stage`, { body: { messageID, files: true } })),
    unrevert: async ({ sessionID }) => void (await rest.post(`/session/${sessionID}/revert/clear`)),
    compact: async ({ sessionID }) => void (await rest.post(`/session/${sessionID}/compact`)),
    close: rest.close,
  }

  /** Returns what all servers of OpenCode 2 can do, without a request. */
  async function learnCapabilities(): Promise<Capabilities> {
    return {
      silenceMs,
      canRead: true,
      nextMessageID,
      takesPromptsWhileBusy: true,
      queuesPrompts: true,
      listsEverywhere: true,
      // A note waits for the next prompt.
      showsNotes: false,
    }
  }

  /**
   * Removes a saved rule. Rejects with `gone` if it isn't in the server's list, because the server's own response is
   * the same then.
   */
  async function removeRule(id: string): Promise<void> {
    const rules = toReadRules(listIn(await rest.get('/permission/saved')))
    if (!rules.some((rule) => rule.id === id))
      throw new ReplyError('gone', `The server has no saved rule ${id}. List the current ones with savedRules.`)
    await rest.delete(`/permission/saved/${encodeURIComponent(id)}`)
  }

  /** Returns the items of a list that belongs to a directory. */
  async function readList(route: string, directory: string | undefined): Promise<readonly unknown[]> {
    return listIn(await rest.get(route, { query: { 'location[directory]': directory } }))
  }

  /**
   * Lists what the model of a prompt takes: the prompt's own, else the session's, else that of its agent's settings, else the
   * server's default.
   */
  async function readTakes({
    sessionID,
    directory,
    agent,
    model,
  }: TakesTarget): Promise<readonly FileKind[] | undefined> {
    const query = { 'location[directory]': directory }
    const [models, agents, fallback, session] = await Promise.all([
      readList('/model', directory),
      readList('/agent', directory),
      rest.get('/model/default', { query }),
      sessionID === undefined ? undefined : rest.get(`/session/${sessionID}`),
    ])
    const chosen =
      model ??
      toChosenModel(dataIn(session)) ??
      toChosenModel(agents.find((one) => isFields(one) && one.id === (agent ?? 'build'))) ??
      toChosenModel({ model: dataIn(fallback) })
    return takesOf(toReadModels(models), chosen)
  }

  /**
   * Lists the root sessions of a directory or of all, and drops those that changed before `since`. Keeps those without
   * a time.
   */
  async function readQueriedSessions({
    directory,
    everywhere = false,
    since = 0,
  }: SessionQuery): Promise<readonly SessionInfo[]> {
    const wanted = everywhere ? undefined : directory
    const items = await readAllPages(rest, '/session', { directory: wanted, parentID: 'null', limit: '100' })
    const listed = toListedSessions(items).map(withTimeOfRuns)
    return listed.filter(({ updatedAt = since }) => updatedAt >= since)
  }

  /**
   * Returns the session with when it was first listed after its newest run, by the server's time, if that is newer than its own time.
   * A run only changes what the session has used. After a gap, that is not before the connection began, so not in the gap.
   */
  function withTimeOfRuns({ info, used }: ListedSession): SessionInfo {
    const { sessionID, updatedAt = 0 } = info
    const before = usedBy.get(sessionID)
    const ranAt = before === undefined || before.used === used ? before?.ranAt : (serverTime() ?? clock.now())
    usedBy.set(sessionID, { used, ranAt })
    return ranAt !== undefined && ranAt > updatedAt ? { ...info, updatedAt: ranAt } : info
  }

  /**
   * Returns the server's time, in ms since the epoch: when the connection began, or that of the newest response if it is later. Never in
   * the future, and late by what has passed since. Undefined if the server tells neither.
   */
  function serverTime(): number | undefined {
    const known = [memory.connectedAt(), rest.newestTime()].filter((time) => time !== undefined)
    return known.length === 0 ? undefined : Math.max(...known)
  }

  /**
   * Returns the server's time, or that of its newest session if that is later. Undefined without sessions whose time is known. A
   * session's own time is older than its runs, because only its creation and its title set it.
   */
  async function readNewestTime(directory: string | undefined): Promise<number | undefined> {
    const times = (await readQueriedSessions({ directory })).flatMap(({ updatedAt }) => updatedAt ?? [])
    return times.length === 0 ? undefined : times.reduce((newest, time) => Math.max(newest, time), serverTime() ?? 0)
  }

  /**
   * Returns the server's spelling of a directory, or your own without dots if the server doesn't name it. Rejects with
   * `refused` if the server can't open it.
   */
  async function readSpelling(directory: string): Promise<string> {
    const query = { 'location[directory]': directory }
    const location = await rest.get('/location', { query }).catch((cause: unknown) => {
      const isRefused = cause instanceof ReplyError && cause.type === 'refused'
      throw isRefused ? noDirectoryError(address.url, directory, cause) : cause
    })
    return resolveDots(toReadSession({ id: '_', location })?.directory ?? directory)
  }

  /**
   * Creates a session, and renames it if it is to have a title. If that fails, it rejects, and the session exists
   * without the title. A variant without a model is left out.
   */
  async function createSession({ directory, title, agent, model, variant }: CreateInput): Promise<SessionInfo> {
    const location = directory === undefined ? undefined : { directory }
    const body = { location, agent, model: model && toModelBody(model, variant) }
    const session = toCreatedSession(await rest.post('/session', { body }))
    if (title === undefined) return session
    // Preview builds take no title at creation.
    await rest.post(`/session/${session.sessionID}/rename`, { body: { title } })
    return { ...session, title }
  }

  /**
   * Switches the session to the prompt's agent and model, if it has them, then posts the prompt with its texts joined
   * by empty lines. A note is marked and doesn't run. Rejects with `unsupported` for fields that OpenCode 2 doesn't
   * have, before it posts anything.
   */
  async function postPrompt(place: SessionRef, input: SourcePrompt, signal?: AbortSignal): Promise<void> {
    const { text = '', files = [], parts = [], agent, model, noReply, messageID: id, variant, delivery } = input
    throwIfUnsupported(input)
    const { sessionID } = place
    if (agent !== undefined) await rest.post(`/session/${sessionID}/agent`, { body: { agent }, signal })
    if (model) await rest.post(`/session/${sessionID}/model`, { body: { model: toModelBody(model, variant) }, signal })
    const moreTexts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    const attached = [...files, ...parts.flatMap((part) => (part.type === 'file' ? [part] : []))]
    const body = {
      id,
      text: [...(text === '' ? [] : [text]), ...moreTexts].join('\n\n'),
      files: attached.length === 0 ? undefined : attached.map(({ url, filename }) => ({ uri: url, name: filename })),
      delivery,
      ...(noReply === true && { resume: false, metadata: noteMark }),
    }
    await rest.post(`/session/${sessionID}/prompt`, { body, signal })
  }

  /**
   * Posts a slash command. Without arguments, the server gets none. Rejects with `unsupported` for a variant without a
   * model, before it posts.
   */
  async function postCommand({ sessionID }: SessionRef, input: SourceCommand, signal?: AbortSignal): Promise<void> {
    const { command: name, agent, model, variant, messageID: id } = input
    throwIfLoneVariant(input)
    const body = {
      id,
      command: name,
      arguments: input.arguments,
      agent,
      model: model && toModelBody(model, variant),
    }
    await rest.post(`/session/${sessionID}/command`, { body, signal })
  }

  /**
   * Answers a permission, or fills in a question's form, by the answer's type. The signal cancels the post unless it
   * was sent.
   */
  async function answerAsk(ask: AskAddress, sourceAnswer: SourceAnswer, signal?: AbortSignal): Promise<void> {
    const { sessionID, requestID } = ask
    if (typeof sourceAnswer === 'string') return await answerPermission(ask, sourceAnswer, undefined, signal)
    const form = await readForm(ask)
    const body = { answer: toFormAnswer(form, sourceAnswer) }
    await rest.post(`/session/${sessionID}/form/${requestID}/reply`, { body, signal })
  }

  /**
   * Rejects a permission with the message, or cancels a question's form without it. The signal cancels the post unless
   * it was sent.
   */
  async function rejectAsk(ask: AskAddress, message?: string, signal?: AbortSignal): Promise<void> {
    if (ask.type === 'permission') return await answerPermission(ask, 'reject', message, signal)
    await rest.post(`/session/${ask.sessionID}/form/${ask.requestID}/cancel`, { signal })
  }

  /** Posts the decision on a permission. */
  async function answerPermission(
    { sessionID, requestID }: AskAddress,
    decision: 'once' | 'always' | 'reject',
    message: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // Preview builds call it `reply` and ignore `decision`, its name in 2.0.
    const body = { reply: decision, decision, message }
    await rest.post(`/session/${sessionID}/permission/${requestID}/reply`, { body, signal })
  }

  /** Returns a question's form: the stored one, or else the server's. Rejects with `malformed` if that isn't a form. */
  async function readForm({ sessionID, requestID }: AskAddress) {
    const storedForm = memory.of(sessionID).forms.get(requestID)
    if (storedForm) return storedForm
    const [form] = toReadForms([dataIn(await rest.get(`/session/${sessionID}/form/${requestID}`))])
    if (form) return form
    throw new ReplyError('malformed', `The server's response for question ${requestID} is not a form.`)
  }
}

/** Converts a model and its variant to the wire's object. */
function toModelBody({ providerID, modelID }: Model, variant: string | undefined) {
  return { id: modelID, providerID, variant }
}

/**
 * Throws `unsupported` for fields that OpenCode 2 doesn't have, instead of dropping them silently: a system prompt,
 * tools, a format, a part that is neither a text nor a file, or a variant without a model.
 */
function throwIfUnsupported({ parts = [], ...input }: SourcePrompt): void {
  throwIfLoneVariant(input)
  const { system, tools, format } = input
  const unknownField = Object.entries({ system, tools, format }).find(([, value]) => value !== undefined)?.[0]
  const part = parts.find(({ type }) => type !== 'text' && type !== 'file')?.type
  const what = unknownField ?? (part && `a part of type "${part}"`)
  if (what === undefined) return
  throw new ReplyError('unsupported', `OpenCode 2 does not take ${what} with a prompt. Leave it out.`)
}

/** Throws `unsupported` for a variant without a model, because on the wire it is a field of the model. */
function throwIfLoneVariant({ model, variant }: Pick<SourcePrompt, 'model' | 'variant'>): void {
  if (variant === undefined || model) return
  throw new ReplyError('unsupported', 'OpenCode 2 takes a variant only with its model. Pass both, or leave it out.')
}

/** Converts the response to the creation of a session. Throws `malformed` if it isn't a session. */
function toCreatedSession(value: unknown): SessionInfo {
  const session = toReadSession(dataIn(value))
  if (session) return session
  throw new ReplyError(
    'malformed',
    'The server answered the creation of a session with something that is not a session.',
  )
}
