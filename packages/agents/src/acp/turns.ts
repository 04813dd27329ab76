import type { Clock } from '@reply/core'
import type { LocalEnding, LocalRun } from '@reply/core/source'
import type { DecodedState } from './decode/update.ts'

/**
 * Finds the run of a session's work in version 2 of the protocol. The agent reports the states of a session: `running`
 * begins work, and `idle` ends it. Whose work it is, only the position of the user's message tells, which the agent sends
 * with an id. The response to the prompt has the same id, and may come later: until then the updates after the message are
 * held. Work that no prompt began is a run of the agent's own.
 */
export interface Turns {
  /** Adds a prompt that waits for the agent. Call it before you send the prompt. */
  expect(run: LocalRun): void
  /**
   * The agent has taken the prompt, with this id. Applies the updates that were held for it. If the agent didn't send the
   * message before, the run gets the work that begins next, or goes on without a run. Work that has another run stays that
   * run's until the message comes.
   */
  accept(run: LocalRun, messageID: string | undefined): void
  /**
   * The agent has taken the prompt into the session's work. Its run gets the output from the next message of the user on, or
   * from now on if that message has come. If the work is over, the run fails as unread.
   */
  join(run: LocalRun): void
  /** Whether the session does work. */
  isWorking(sessionID: string): boolean
  /** Removes a prompt that the agent has refused, and applies the updates that were held for it. The caller ends the run. */
  refuse(run: LocalRun): void
  /** The session still does the work of a run that began in an earlier process. */
  resume(run: LocalRun): void
  /**
   * Holds the update, and returns true, if the session has an update that waits, or if this is a message of the user that may
   * be a prompt without a response. What is held is applied after `longestHoldMs` at the latest. `messageID` is undefined for
   * all other updates.
   */
  hold(sessionID: string, params: unknown, messageID: string | undefined): boolean
  /** The session whose updates are held. Undefined if there is none. */
  holding(): string | undefined
  /** Resolves when no update of the session waits. Undefined if none does. Await it before you handle a request of the agent. */
  decided(sessionID: string): Promise<void> | undefined
  /**
   * The user's message with this id is at this point: from here on, the work is that of its prompt, or of the oldest prompt
   * that joined the work. Ends the run of the work before, if that is another one. Each id counts once. Ignores messages of
   * other clients.
   */
  insert(sessionID: string, messageID: string): void
  /** Begins or ends the work of a session. Work without output shows nothing, unless it has failed or is that of a prompt. */
  update(sessionID: string, state: DecodedState): void
  /** Begins a run of the agent's own if the session does work that has none. Call it before output and asks. */
  claim(sessionID: string): void
  /** Drops what is held, and stops its timers. Call it when the agent has ended. */
  close(): void
  /** The run of the session's work, or of its next work. Undefined if it is unknown whose the work is, or if there is none. */
  runOf(sessionID: string): LocalRun | undefined
}

interface Held {
  readonly params: unknown
  readonly messageID: string | undefined
}

/** The work of one session. */
interface Work {
  /** The runs whose prompts have no response, oldest first. */
  readonly waiting: Set<LocalRun>
  /** The runs with a response whose messages are held, or have not come, by the ids of the messages. Oldest first. */
  readonly accepted: Map<string, LocalRun>
  /** The runs of prompts that were taken into the work, whose messages have not come, oldest first. */
  readonly joining: LocalRun[]
  /** The ids of the messages whose run is known. Each may come in several pieces. */
  readonly shown: Set<string>
  /** The ids of messages that came in the work while a prompt waited, and that no response has named so far. */
  readonly unnamed: Set<string>
  readonly held: Held[]
  /** Called when nothing is held. */
  readonly whenDecided: (() => void)[]
  /** Stops the timer of what is held. */
  stopTimer: () => void
  isWorking: boolean
  /** The run of the work, or of the next one if the session is idle. Undefined while no prompt and no output has begun it. */
  run: LocalRun | undefined
}

/**
 * How long updates are held for the response to a prompt, in ms. The agents of Claude and Codex send it with the message. Then
 * the message counts as one of another client.
 */
export const longestHoldMs = 2000

/**
 * Creates the work of the sessions of version 2, where a prompt's response doesn't end it. It finds out which run each
 * work belongs to. `wake` begins a run without a prompt. `onBegin` is called when the work of a run begins. `end` ends
 * a run, and `handOver` one whose work goes on in another run. `apply` applies an update that was held.
 */
export function createTurns(
  wake: (sessionID: string) => LocalRun,
  onBegin: (sessionID: string) => void,
  end: (run: LocalRun, ending: LocalEnding) => void,
  handOver: (run: LocalRun) => void,
  apply: (params: unknown) => void,
  clock: Clock,
): Turns {
  const works = new Map<string, Work>()
  return {
    expect: (run) => void workOf(run.sessionID).waiting.add(run),
    accept,
    join,
    isWorking: (sessionID) => workOf(sessionID).isWorking,
    refuse,
    resume: (run) => {
      const work = workOf(run.sessionID)
      work.run = run
      work.isWorking = true
    },
    hold,
    holding: () => [...works].find(([, { held }]) => held.length > 0)?.[0],
    decided: (sessionID) => {
      const { held, whenDecided } = workOf(sessionID)
      return held.length === 0 ? undefined : new Promise((resolve) => whenDecided.push(resolve))
    },
    insert: (sessionID, messageID) => {
      const work = workOf(sessionID)
      const accepted = work.accepted.get(messageID)
      work.accepted.delete(messageID)
      if (!accepted && (work.shown.has(messageID) || work.unnamed.has(messageID))) return
      const run = accepted ?? work.joining.shift()
      if (run || work.waiting.size === 0) work.shown.add(messageID)
      else work.unnamed.add(messageID)
      if (run) insertRun(work, run)
    },
    update: (sessionID, state) => (state.type === 'running' ? begin(sessionID) : finish(sessionID, state)),
    claim,
    close: () => {
      for (const work of works.values()) {
        work.held.length = 0
        release(work)
      }
    },
    runOf: (sessionID) => works.get(sessionID)?.run,
  }

  function join(run: LocalRun): void {
    const work = workOf(run.sessionID)
    const [sent] = work.unnamed
    if (!work.isWorking) end(run, unread)
    else if (sent === undefined) work.joining.push(run)
    else {
      // Its message came before this response.
      work.unnamed.delete(sent)
      work.shown.add(sent)
      insertRun(work, run)
    }
    refuse(run)
  }

  function refuse(run: LocalRun): void {
    const work = workOf(run.sessionID)
    work.waiting.delete(run)
    release(work)
  }

  function accept(run: LocalRun, messageID: string | undefined): void {
    const work = workOf(run.sessionID)
    work.waiting.delete(run)
    const isHeld = messageID !== undefined && work.held.some((held) => held.messageID === messageID)
    if (isHeld) work.accepted.set(messageID, run)
    release(work)
    if (isHeld) return
    // The message may come later.
    if (messageID === undefined) return insertRun(work, run)
    const isSent = work.unnamed.delete(messageID) || work.shown.has(messageID)
    // Until the message comes, the output may belong to the run before.
    if (!isSent && work.isWorking && work.run?.isOpen()) return void work.accepted.set(messageID, run)
    work.shown.add(messageID)
    insertRun(work, run)
  }

  function hold(sessionID: string, params: unknown, messageID: string | undefined): boolean {
    const work = workOf(sessionID)
    if (work.held.length === 0 && !isUndecided(work, messageID)) return false
    work.held.push({ params, messageID })
    if (work.held.length === 1) work.stopTimer = clock.after(longestHoldMs, () => giveUp(work))
    return true
  }

  /** Takes the held message as one of another client, and applies what came after it. */
  function giveUp(work: Work): void {
    const [first] = work.held
    if (first?.messageID !== undefined) work.shown.add(first.messageID)
    release(work)
  }

  /** Applies what was held, up to the next message of the user that may be a prompt without a response. */
  function release(work: Work): void {
    for (let next = work.held[0]; next && !isUndecided(work, next.messageID); next = work.held[0]) {
      work.held.shift()
      apply(next.params)
    }
    work.stopTimer()
    if (work.held.length > 0) work.stopTimer = clock.after(longestHoldMs, () => giveUp(work))
    else for (const decide of work.whenDecided.splice(0)) decide()
  }

  /**
   * Whether a message of the user may be a prompt without a response. Work that has a run goes on in it until the response
   * comes, because other messages may come in between.
   */
  function isUndecided({ waiting, accepted, shown, isWorking, run }: Work, messageID: string | undefined): boolean {
    if (messageID === undefined || waiting.size === 0) return false
    const isDecided = isWorking && run?.isOpen() === true
    return !accepted.has(messageID) && !shown.has(messageID) && !isDecided
  }

  /**
   * Gives the current or the next work to this run. If the work has another run, the agent took the prompt into it: that run
   * is handed over.
   */
  function insertRun(work: Work, run: LocalRun): void {
    const before = work.run?.isOpen() ? work.run : undefined
    work.run = run
    if (!before) return onBegin(run.sessionID)
    // Begins it first, because the session would be idle in between.
    run.write()
    handOver(before)
  }

  /**
   * Begins the work of an idle session. It is the agent's own if no prompt waits for a response, and otherwise undecided,
   * because Codex's agent begins to work on a prompt before it sends the message. Does nothing while the session works, and
   * if a prompt waits for this work.
   */
  function begin(sessionID: string): void {
    const work = workOf(sessionID)
    if (work.isWorking) return
    work.isWorking = true
    if (work.run?.isOpen()) return
    work.run = undefined
    // Codex's agent begins to work on a prompt before it sends the message.
    if (work.waiting.size === 0) claim(sessionID)
  }

  function claim(sessionID: string): void {
    const work = workOf(sessionID)
    if (!work.isWorking || work.run) return
    onBegin(sessionID)
    work.run = wake(sessionID)
  }

  /**
   * Ends the work with its usage, and the prompts that joined it and were not read: as failed if it has completed, else like
   * it. The next work is that of the oldest prompt whose message has not come. If the work was aborted, these prompts were
   * too. Does nothing if the session does no work, because an idle session also reports what it runs in the background.
   */
  function finish(sessionID: string, { ending, usage }: Extract<DecodedState, { readonly type: 'idle' }>): void {
    const work = workOf(sessionID)
    if (!work.isWorking) return
    // Work without output is only shown if it has failed.
    if (ending.type === 'failed') claim(sessionID)
    const { run } = work
    work.isWorking = false
    work.run = undefined
    work.shown.clear()
    work.unnamed.clear()
    run?.write(...usage)
    if (run) end(run, ending)
    for (const left of work.joining.splice(0)) end(left, ending.type === 'completed' ? unread : ending)
    for (const [messageID, accepted] of work.accepted) {
      if (work.held.some((held) => held.messageID === messageID)) continue
      work.accepted.delete(messageID)
      if (ending.type === 'aborted') end(accepted, ending)
      else {
        work.shown.add(messageID)
        return insertRun(work, accepted)
      }
    }
  }

  /** Returns the work of a session. Creates it if needed. */
  function workOf(sessionID: string): Work {
    const known = works.get(sessionID)
    if (known) return known
    const work: Work = {
      waiting: new Set(),
      accepted: new Map(),
      joining: [],
      shown: new Set(),
      unnamed: new Set(),
      held: [],
      whenDecided: [],
      stopTimer: () => {},
      isWorking: false,
      run: undefined,
    }
    works.set(sessionID, work)
    return work
  }
}

const unread: LocalEnding = {
  type: 'failed',
  error: {
    name: 'unread',
    message: 'The agent ended its work before it read this prompt. Send it again.',
    raw: undefined,
  },
}
