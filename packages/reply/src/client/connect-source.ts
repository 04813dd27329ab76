import { createAsks } from '../drive/asks/answer-asks.ts'
import { readUnseenInputs } from '../drive/asks/unseen-input.ts'
import { createConnection } from '../drive/connection/connection.ts'
import { trackContextLimits } from '../drive/connection/context-limits.ts'
import { createFollowing } from '../drive/connection/following.ts'
import { createReadiness } from '../drive/connection/readiness.ts'
import { createWatching } from '../drive/connection/watch.ts'
import type { Drive } from '../drive/drive.ts'
import { createEngine } from '../drive/engine.ts'
import { createInbox } from '../drive/inbox.ts'
import { type DriveOptions, toSettings } from '../drive/options.ts'
import { reportingErrors } from '../drive/reporting-errors.ts'
import { createIdleCheck } from '../drive/runs/idle-check.ts'
import { toSourceCommand, toSourcePrompt } from '../drive/runs/prompt-input.ts'
import type { ReplyStream } from '../drive/runs/reply-stream.ts'
import { resumeRun } from '../drive/runs/resume-run.ts'
import type { RunOptions } from '../drive/runs/run-options.ts'
import type { RunRequest, RunServer } from '../drive/runs/run-server.ts'
import { createSessions } from '../drive/runs/sessions.ts'
import { createStallTimer } from '../drive/runs/stall-timer.ts'
import { startRun } from '../drive/runs/start-run.ts'
import { createServerInfo } from '../drive/server-info.ts'
import { createSessionReader } from '../drive/session-reader.ts'
import { createAborting } from '../drive/stop/abort.ts'
import { createParentLookup } from '../drive/stop/session-tree.ts'
import { createStopping } from '../drive/stop/stopping.ts'
import { ReplyError, safeOnError } from '../error.ts'
import type { CommandInput, PromptInput } from '../source/input.ts'
import type { Source } from '../source/port.ts'
import type { Client } from './client.ts'
import { createQueries } from './queries.ts'
import { abortTarget, type StopTarget } from './stop-target.ts'

/** Longer defaults, in ms: an agent that has to start first takes longer than a running server. */
const agentStart = { connectTimeoutMs: 60_000, firstFrameMs: 60_000 }

/**
 * Connects to any source, like `connect` does to OpenCode. Waits longer for an agent that this program starts. Closing
 * the client also closes the source. Throws `invalid` for invalid options.
 */
export function connectSource(source: Source, options: DriveOptions = {}): Client {
  const callerSettings = toSettings(source.isLocal ? { ...agentStart, ...options } : options)
  let isClosed = false
  // Calls in flight fail when the owner closes the connection; those errors are not reported.
  const onError = safeOnError((error: ReplyError) => {
    if (!isClosed) callerSettings.onError(error)
  })
  const { directory, follow = 'all' } = options
  const settings = {
    ...callerSettings,
    directory,
    silenceMs: options.silenceMs,
    onError,
    onFrame: reportingErrors('onFrame', options.onFrame, onError),
    onConnection: reportingErrors('onConnection', options.onConnection, onError),
  }
  const { clock, keepSettled } = settings
  const engine = createEngine(onError, keepSettled)
  const info = createServerInfo(source)
  const reader = createSessionReader({ engine, source, info, clock, onError })
  const drive: Drive = { engine, source, info, reader, clock, onError }
  const readiness = createReadiness(clock, source.name, settings.connectTimeoutMs, source.isLocal)
  const { isLive } = readiness
  const sessions = createSessions(drive, directory)
  const following = createFollowing({ engine, clock, keepReleased: keepSettled }, follow === 'all')
  const watching = createWatching(drive, directory, keepSettled, isLive, following)
  const stallTimer = createStallTimer(clock, settings.stalledAfterMs, (sessionID, stalled) => {
    engine.apply([{ type: 'stalled', sessionID, stalled, at: clock.now() }])
    // The end of the reply may have been lost even though the stream is up.
    if (stalled) void sessions.refresh(engine.placeOf(sessionID))
  })
  engine.onStep(stallTimer.noteStep)
  trackContextLimits(drive)
  const stopReadingInputs = readUnseenInputs(drive, source, () => isLive() && info.current().canRead)
  const idleCheck = createIdleCheck(drive, settings)
  const parentOf = createParentLookup(source)
  const stopping = createStopping(parentOf)
  const inbox = createInbox(drive)
  const aborting = createAborting(drive, { graceMs: settings.graceMs, stopping, parentOf, find: sessions.find, inbox })
  const { answer, reject } = createAsks(drive, source, stopping)
  const connection = createConnection(drive, settings, readiness, watching, following)
  const closedListeners = new Set<() => void>()
  const server: RunServer = {
    ...drive,
    following,
    readiness,
    sessions,
    stopping,
    aborting,
    inbox,
    idleCheck,
    stallTimer,
    guardedRuns: new WeakSet(),
    onClosed: (listener) => {
      closedListeners.add(listener)
      return () => closedListeners.delete(listener)
    },
  }
  const queries = createQueries(drive, sessions, directory, readiness.whenUsable)
  return {
    ready: readiness.ready,
    prompt,
    command,
    resume: async (posted, { again, ...runOptions } = {}) =>
      await resumeRun(server, posted, {
        ...runOptions,
        again: again && (async () => toPromptRequest(await again())),
      }),
    watch: watching.watch,
    on: engine.replies.on,
    answer,
    reject,
    abort,
    close,
    ...queries,
  }

  /**
   * Posts a prompt and returns its stream at once. Throws `invalid` for a prompt that can't be posted, and for a bad
   * `timeoutMs`.
   */
  function prompt(input: PromptInput, runOptions: RunOptions = {}): ReplyStream {
    return startRun(server, toPromptRequest(input), runOptions)
  }

  /**
   * Builds the request that posts a prompt. If it is posted again, it leaves out files that the server has stored,
   * unless it has no text. Throws `invalid` for a prompt that can't be posted.
   */
  function toPromptRequest(input: PromptInput): RunRequest {
    const body = toSourcePrompt(input)
    const withoutFiles = input.text?.trim() ? { ...body, files: [] } : body
    return {
      kind: input.noReply ? 'note' : 'prompt',
      input,
      text: input.text,
      delivery: input.delivery,
      post: (place, messageID, stored, signal) =>
        source.prompt(
          place,
          { ...(stored?.hasFiles ? withoutFiles : body), messageID, textPartID: stored?.textPartID },
          signal,
        ),
    }
  }

  /**
   * Runs a slash command and returns its stream at once. Throws `invalid` for a command without a name, and for a bad
   * `timeoutMs`.
   */
  function command(input: CommandInput, runOptions: RunOptions = {}): ReplyStream {
    const body = toSourceCommand(input)
    const request: RunRequest = {
      kind: 'command',
      input: { ...input, command: body.command },
      text: `/${body.command} ${input.arguments ?? ''}`.trim(),
      post: (place, messageID, _, signal) => source.command(place, { ...body, messageID }, signal),
    }
    return startRun(server, request, runOptions)
  }

  /**
   * Aborts the target and resolves once the stop is confirmed. Rejects with `closed` after `close`, and otherwise like
   * `abortTarget`.
   */
  async function abort(target: StopTarget): Promise<void> {
    if (isClosed) throw new ReplyError('closed', 'The connection was closed. Create a new one.')
    await abortTarget(target, aborting.abort)
  }

  /**
   * Ends the connection and all timers, settles open replies as lost, calls the `onClosed` listeners and closes the
   * source. Later errors aren't reported, and later events are ignored.
   */
  async function close(): Promise<void> {
    connection.close()
    idleCheck.stop()
    stallTimer.stop()
    stopReadingInputs()
    const at = clock.now()
    engine.apply(
      engine.openReplies().map(({ sessionID }) => ({ type: 'settle', sessionID, at, by: 'lost', reason: 'closed' })),
    )
    for (const listener of [...closedListeners]) listener()
    isClosed = true
    source.close()
    engine.stop()
  }
}
