import type { LocalEnding, LocalOutput, LocalRun } from '@reply/core/source'

/**
 * The prompts of version 1 that have no response so far. The response ends the turn of a prompt. A turn may take more prompts
 * while it runs (`_session/steering`): each has a run of its own, and the turn's output goes to the newest run that the agent
 * has read. Further prompts of a session wait for the turns before them.
 */
export interface PromptTurns {
  /** Adds the turn of a prompt behind the other ones of the session. Call it when you send the prompt. */
  begin(run: LocalRun): PromptTurn
  /** The turn that the session's output belongs to. Undefined if no prompt of the session waits for a response. */
  first(sessionID: string): PromptTurn | undefined
  /** Adds a prompt that is being sent into the turn. */
  steer(turn: PromptTurn, run: LocalRun): void
  /** The agent has taken the prompt into the turn, or refused it. A taken prompt ends with the turn, which may be over. */
  steered(turn: PromptTurn, run: LocalRun, isTaken: boolean): void
  /**
   * Call it before you write output of the session. If this output comes after the agent has read prompts that the turn took,
   * ends the run so far, and those of all these prompts but the newest, which gets the output. Does nothing for more text of
   * the same message, and for output other than texts, thoughts and calls. `isInCall` tells that the output belongs to a
   * call, or that another call runs: then it does nothing too, because the model reads prompts when all calls have returned.
   */
  read(sessionID: string, outputs: readonly LocalOutput[], isInCall: boolean): void
  /** Ends the runs of the turn, and begins the next one. Writes the usage to the newest run before. */
  end(turn: PromptTurn, ending: LocalEnding, usage: readonly LocalOutput[]): void
}

/** One prompt that has no response so far. */
export interface PromptTurn {
  readonly sessionID: string
  /** The run that gets the output. */
  run: LocalRun
  /** The runs of prompts that are being sent into the turn. */
  readonly sending: Set<LocalRun>
  /** The runs of prompts that the turn took, and the agent has not read, oldest first. */
  readonly taken: LocalRun[]
  /** The message of the newest text. More text of this message was written before the agent read a prompt. */
  textID: string | undefined
  /** Set once the turn is over. */
  ending: LocalEnding | undefined
}

/**
 * Creates the prompts of version 1 whose responses have not come, by their sessions. It finds out which run the output
 * belongs to, also if the agent takes further prompts into a turn. `onBegin` is called when the turn becomes the first
 * of its session, unless its session `isBusy` with something else. `end` ends a run. `handOver` ends a run whose turn
 * goes on in another one.
 */
export function createPromptTurns(
  onBegin: (sessionID: string) => void,
  isBusy: (sessionID: string) => boolean,
  end: (run: LocalRun, ending: LocalEnding) => void,
  handOver: (run: LocalRun) => void,
): PromptTurns {
  const turns = new Map<string, readonly PromptTurn[]>()
  return {
    begin: (run) => {
      const { sessionID } = run
      const turn: PromptTurn = {
        sessionID,
        run,
        sending: new Set(),
        taken: [],
        textID: undefined,
        ending: undefined,
      }
      const before = turns.get(sessionID) ?? []
      turns.set(sessionID, [...before, turn])
      if (before.length === 0 && !isBusy(sessionID)) onBegin(sessionID)
      return turn
    },
    first,
    steer: ({ sending }, run) => void sending.add(run),
    steered: ({ sending, taken, ending }, run, isTaken) => {
      sending.delete(run)
      if (!isTaken) return
      if (ending) end(run, ending)
      else taken.push(run)
    },
    read,
    end: (turn, ending, usage) => {
      const { sessionID, run, taken } = turn
      turn.ending = ending
      const otherTurns = (turns.get(sessionID) ?? []).filter((other) => other !== turn)
      const wasFirst = first(sessionID) === turn
      if (otherTurns.length > 0) turns.set(sessionID, otherTurns)
      else turns.delete(sessionID)
      run.write(...usage)
      end(run, ending)
      for (const unread of taken) end(unread, ending)
      if (wasFirst && otherTurns.length > 0) onBegin(sessionID)
    },
  }

  function first(sessionID: string): PromptTurn | undefined {
    return turns.get(sessionID)?.[0]
  }

  function read(sessionID: string, outputs: readonly LocalOutput[], isInCall: boolean): void {
    const turn = first(sessionID)
    const output = outputs.find(({ type }) => type === 'text' || type === 'reasoning' || type === 'tool')
    if (!turn || !output) return
    const textID = output.type === 'text' ? output.messageID : undefined
    const continuesText = textID !== undefined && textID === turn.textID
    if (textID !== undefined) turn.textID = textID
    if (continuesText || isInCall) return
    for (const run of turn.taken.splice(0)) {
      // Begins it first, because the session would be idle in between.
      run.write()
      handOver(turn.run)
      turn.run = run
    }
  }
}
