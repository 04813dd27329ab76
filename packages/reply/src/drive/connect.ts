import { toReadMessages, toReadSession } from '../decode/rest.ts'
import { ReplyError } from '../error.ts'
import type { SnapshotEvent } from '../event.ts'
import { type Place, placeOf } from '../place.ts'
import { createAsks } from './asks/answer-asks.ts'
import { readUnseenInputs } from './asks/unseen-input.ts'
import { guarded, guardedOnError } from './guard-callback.ts'
import type { OpenCode } from './opencode.ts'
import { type ConnectOptions, toSettings } from './options.ts'
import { createAborting } from './run/abort.ts'
import { createIdleCheck } from './run/idle-check.ts'
import { wordsOf } from './run/join.ts'
import { createMessageIDs } from './run/message-id.ts'
import { type RunDeps, startRun } from './run/prompt.ts'
import { type CommandInput, type PromptInput, toCommandBody, toCreateBody, toPromptBody } from './run/prompt-input.ts'
import type { ReplyStream } from './run/reply-stream.ts'
import type { RunOptions } from './run/run-options.ts'
import { createParents } from './run/session-tree.ts'
import { createStallTimer } from './run/stall-timer.ts'
import { type StopTarget, stopTarget } from './run/stop-target.ts'
import { createStopping } from './run/stopping.ts'
import { createEngine } from './store/engine.ts'
import { type Connection, createConnection } from './sync/connection.ts'
import { trackContextLimits } from './sync/context-limits.ts'
import { createPlaces } from './sync/places.ts'
import { type ReadRequest, readSnapshot } from './sync/read-snapshot.ts'
import { createWatching } from './sync/watch.ts'
import { toAddress } from './transport/address.ts'
import { createRest } from './transport/rest.ts'
import { takesMessageIDs } from './transport/version.ts'

/** Connects to a server with one event stream, shared by all sessions. Throws only `invalid`, for invalid options. */
export function connect(options: ConnectOptions = {}): OpenCode {
  const given = toSettings(options)
  const address = toAddress(options)
  let isClosed = false
  // Calls in flight fail when the owner closes the connection; those errors are not reported.
  const onError = guardedOnError((error) => {
    if (!isClosed) given.onError(error)
  })
  const told = {
    ...options,
    onFrame: guarded('onFrame', options.onFrame, onError),
    onConnection: guarded('onConnection', options.onConnection, onError),
  }
  const settings = { ...given, onError }
  const { clock } = settings
  const rest = createRest({
    address,
    fetch: settings.fetch,
    clock,
    deadlineMs: settings.deadlineMs,
    maxAnswerBytes: settings.maxAnswerBytes,
  })
  const places = createPlaces(rest)
  const engine = createEngine({ onError, keepSettled: settings.keepSettled })
  const expected = new Set<string>()
  const closedListeners = new Set<() => void>()
  const read = async (request: ReadRequest): Promise<SnapshotEvent> => {
    const snapshot = await readSnapshot({ rest, places, clock, onError, held: engine.held }, request)
    watching.note(snapshot)
    return snapshot
  }
  const idleCheck = createIdleCheck({
    ...settings,
    // An open text that only REST reports at the end was missed on the stream.
    read: (reply) => read({ ...placeOf(reply), reply, gap: true }),
    apply: engine.apply,
    openReply: engine.openReply,
    idleOf: engine.idleOf,
    isExpected: (sessionID) => expected.has(sessionID),
  })
  const stallTimer = createStallTimer({
    ...settings,
    onStalled: (sessionID, stalled) => {
      engine.apply([{ type: 'stalled', sessionID, stalled, at: clock.now() }])
      // The end of the reply may have been lost even though the stream is up.
      if (stalled) void refresh(engine.place(sessionID))
    },
  })
  const watching = createWatching({
    engine,
    rest,
    places,
    read,
    onError,
    directory: options.directory,
    isLive: () => connection.isLive(),
    listen: (directory) => connection.listen(directory),
    keepSettled: settings.keepSettled,
  })
  const connection: Connection = createConnection({ address, options: told, settings, engine, rest, read, watching })
  trackContextLimits({ engine, rest, clock })
  const stopUnseen = readUnseenInputs({ engine, rest, clock, onError, isLive: connection.isLive })
  engine.onStep((step) => {
    stallTimer.note(step)
    const { phase, sessionID } = step.reply
    if (phase === 'settled' && engine.replies.newest(sessionID)?.run === step.run) expected.delete(sessionID)
  })
  engine.onTurned(idleCheck.review)
  const parentOf = createParents(rest)
  const stopping = createStopping({ parentOf })
  const aborting = createAborting({ ...settings, engine, rest, stopping, parentOf, find })
  const nextMessageID = createMessageIDs(settings)
  const deps: RunDeps = {
    engine,
    clock,
    onError,
    whenLive: connection.whenLive,
    refresh,
    said,
    onClosed: (listener) => {
      closedListeners.add(listener)
      return () => closedListeners.delete(listener)
    },
    abort: async ({ sessionID }, after) => await aborting.abort(sessionID, { after }),
    timeOut: ({ sessionID }) => void aborting.abort(sessionID, { reason: 'timed-out' }),
    messageID: () => (takesMessageIDs(connection.version()) ? nextMessageID() : undefined),
    whenStopped: stopping.reopen,
    limit: stallTimer.limit,
    expect: (sessionID) => expected.add(sessionID),
  }
  const { answer, reject } = createAsks({ engine, rest, clock, stopping })
  return { ready: connection.ready, prompt, command, watch: watching.watch, answer, reject, abort, close }

  function prompt(input: PromptInput, runOptions: RunOptions = {}): ReplyStream {
    const body = toPromptBody(input)
    const run = {
      sessionID: input.sessionID,
      text: input.text,
      noReply: input.noReply,
      session: () => session(input),
      post: (place: Place, messageID: string | undefined) => rest.prompt(place, { ...withID(messageID), ...body }),
    }
    return startRun(deps, run, runOptions)
  }

  function command(input: CommandInput, runOptions: RunOptions = {}): ReplyStream {
    const text = `/${input.command} ${input.arguments ?? ''}`.trim()
    const body = toCommandBody(input)
    const post = (place: Place, messageID: string | undefined) => rest.command(place, { ...withID(messageID), ...body })
    return startRun(
      deps,
      { sessionID: input.sessionID, text, isLong: true, session: () => session(input), post },
      runOptions,
    )
  }

  /** Finds or creates the session and reads its current state, so that existing messages don't count as our reply. */
  async function session(input: { sessionID?: string | undefined; title?: string | undefined }): Promise<Place> {
    if (input.sessionID === undefined) {
      const { directory: given } = options
      const home = given === undefined ? undefined : await places.spelled(given)
      const created = toReadSession(await rest.create(home, toCreateBody(input)))
      if (!created)
        throw new ReplyError('malformed', 'The server answered POST /session with something that is not a session.')
      const { id, ...known } = created
      engine.apply([{ type: 'session', sessionID: id, at: clock.now(), ...known }])
      return { sessionID: id, directory: known.directory ?? home }
    }
    const { sessionID } = input
    const snapshot = await read({ ...engine.place(sessionID), reply: engine.openReply(sessionID), gap: false })
    if (snapshot.session.parentID !== undefined) {
      const words = `Session ${sessionID} belongs to a sub-agent; prompt the session that started it, ${snapshot.session.parentID}.`
      throw new ReplyError('invalid', words)
    }
    engine.apply([snapshot])
    return engine.place(sessionID)
  }

  async function refresh(place: Place): Promise<void> {
    try {
      engine.apply([await read({ ...place, reply: engine.openReply(place.sessionID), gap: false })])
    } catch (error) {
      if (error instanceof ReplyError) onError(error)
    }
  }

  /** The text of a user message; undefined if it can't be read, empty if it isn't stored yet. */
  async function said(place: Place, messageID: string): Promise<string | undefined> {
    try {
      const [message] = toReadMessages([await rest.message(place, messageID)], onError)
      return message && wordsOf(message.parts)
    } catch {
      // Used only to tell prompts apart; an unknown text is taken for ours.
      return undefined
    }
  }

  async function abort(target: StopTarget): Promise<void> {
    if (isClosed) throw new ReplyError('closed', 'The connection was closed; connect() creates a new one.')
    await stopTarget(target, aborting.abort)
  }

  async function find(sessionID: string): Promise<Place> {
    const place = engine.place(sessionID)
    if (place.directory !== undefined) return place
    return { sessionID, directory: toReadSession(await rest.session(place))?.directory }
  }

  async function close(): Promise<void> {
    connection.close()
    idleCheck.stop()
    stallTimer.stop()
    stopUnseen()
    const at = clock.now()
    engine.apply(
      engine.openReplies().map(({ sessionID }) => ({ type: 'settle', sessionID, at, by: 'lost', reason: 'closed' })),
    )
    for (const listener of [...closedListeners]) listener()
    isClosed = true
    rest.close()
    engine.stop()
  }
}

function withID(messageID: string | undefined): { readonly messageID?: string } {
  return messageID === undefined ? {} : { messageID }
}
