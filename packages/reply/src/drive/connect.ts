import { ReplyError } from '../error.ts'
import { createAsks } from './asks/answer-asks.ts'
import { readUnseenInputs } from './asks/unseen-input.ts'
import { guarded, guardedOnError } from './guard-callback.ts'
import type { OpenCode } from './opencode.ts'
import { type ConnectOptions, toSettings } from './options.ts'
import { createAborting } from './run/abort.ts'
import { createIdleCheck } from './run/idle-check.ts'
import { createMessageIDs } from './run/message-id.ts'
import { type CommandInput, type PromptInput, toCommandBody, toPromptBody } from './run/prompt-input.ts'
import type { ReplyStream } from './run/reply-stream.ts'
import type { RunOptions } from './run/run-options.ts'
import type { RunRequest, RunServer } from './run/run-server.ts'
import { createParents } from './run/session-tree.ts'
import { createSessions } from './run/sessions.ts'
import { createStallTimer } from './run/stall-timer.ts'
import { startRun } from './run/start-run.ts'
import { type StopTarget, stopTarget } from './run/stop-target.ts'
import { createStopping } from './run/stopping.ts'
import { createEngine } from './store/engine.ts'
import { createBaseline } from './sync/baseline.ts'
import { createConnection } from './sync/connection.ts'
import { trackContextLimits } from './sync/context-limits.ts'
import { createLiveness } from './sync/liveness.ts'
import { createPlaces } from './sync/places.ts'
import { createSessionReader } from './sync/session-reader.ts'
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
  const guardedOptions = {
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
  const liveness = createLiveness(settings)
  const baseline = createBaseline({ engine, rest, clock, onError })
  const reader = createSessionReader({ rest, places, clock, onError, retained: engine.retained })
  const { read } = reader
  const { directory } = options
  const sessions = createSessions({ engine, rest, places, read, clock, onError, directory })
  const stallTimer = createStallTimer({
    ...settings,
    onStalled: (sessionID, stalled) => {
      engine.apply([{ type: 'stalled', sessionID, stalled, at: clock.now() }])
      // The end of the reply may have been lost even though the stream is up.
      if (stalled) void sessions.refresh(engine.place(sessionID))
    },
  })
  const { isLive } = liveness
  const { keepSettled } = settings
  const watching = createWatching({ engine, rest, places, reader, baseline, isLive, onError, directory, keepSettled })
  const connection = createConnection({
    address,
    options: guardedOptions,
    settings,
    engine,
    rest,
    read,
    liveness,
    baseline,
    watching,
  })
  trackContextLimits({ engine, rest, clock })
  const stopUnseen = readUnseenInputs({ engine, rest, clock, onError, isLive })
  engine.onStep(stallTimer.note)
  const idleCheck = createIdleCheck({ ...settings, engine, read })
  const parentOf = createParents(rest)
  const stopping = createStopping({ parentOf })
  const aborting = createAborting({ ...settings, engine, rest, stopping, parentOf, find: sessions.find })
  const nextMessageID = createMessageIDs(settings)
  const closedListeners = new Set<() => void>()
  const server: RunServer = {
    engine,
    clock,
    onError,
    whenReady: async (sessionID) => {
      await liveness.whenLive()
      if (sessionID !== undefined) await stopping.reopen(sessionID)
    },
    nextMessageID: () => (takesMessageIDs(connection.version()) ? nextMessageID() : undefined),
    refresh: sessions.refresh,
    textOf: sessions.textOf,
    expectRun: idleCheck.expectRun,
    abort: aborting.abort,
    limitStall: stallTimer.limit,
    onClosed: (listener) => {
      closedListeners.add(listener)
      return () => closedListeners.delete(listener)
    },
  }
  const { answer, reject } = createAsks({ engine, rest, clock, stopping })
  return { ready: liveness.ready, prompt, command, watch: watching.watch, answer, reject, abort, close }

  function prompt(input: PromptInput, runOptions: RunOptions = {}): ReplyStream {
    const body = toPromptBody(input)
    const { sessionID, text } = input
    const request: RunRequest = {
      kind: input.noReply ? 'note' : 'prompt',
      sessionID,
      text,
      prepare: () => sessions.prepare(input),
      post: (place, messageID) => rest.prompt(place, { ...withID(messageID), ...body }),
    }
    return startRun(server, request, runOptions)
  }

  function command(input: CommandInput, runOptions: RunOptions = {}): ReplyStream {
    const body = toCommandBody(input)
    const request: RunRequest = {
      kind: 'command',
      sessionID: input.sessionID,
      text: `/${input.command} ${input.arguments ?? ''}`.trim(),
      prepare: () => sessions.prepare(input),
      post: (place, messageID) => rest.command(place, { ...withID(messageID), ...body }),
    }
    return startRun(server, request, runOptions)
  }

  async function abort(target: StopTarget): Promise<void> {
    if (isClosed) throw new ReplyError('closed', 'The connection was closed; connect() creates a new one.')
    await stopTarget(target, aborting.abort)
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
