import type { LocalEnding, LocalHistory, LocalRun } from '@reply/core/source'
import { dropsCutTexts, isInterruptionNote } from './claude-history.ts'
import type { DecodedUpdate } from './decode/update.ts'

/** Turns the updates that repeat the past of a session into its runs, for both versions of the protocol. */
export interface PastRuns {
  /**
   * Takes an update of the session. Output begins the run of the prompt before it, or of none if the past begins with output,
   * and ends the run before. Claude Code's note of an interruption ends its run. Call it before you write the output.
   */
  take(update: DecodedUpdate): void
  /** The run that output is written to. Undefined before the first one, and after `finish`. */
  run(): LocalRun | undefined
  /**
   * Begins the run of a prompt that is left, and ends the last run, as aborted if its text may be cut off. Then returns
   * undefined. If the agent has said that the session still works, returns the last run without ending it.
   */
  finish(): LocalRun | undefined
}

type Prompt = NonNullable<DecodedUpdate['prompt']>

/**
 * Creates the division of an earlier session's updates into the runs of its history. `onBegin` is called before a run
 * begins, and `end` ends a run. Agents don't repeat how a run ended: it is aborted unless it ends with a text, and the
 * last one also if that text may be cut off.
 */
export function createPastRuns(
  agent: string | undefined,
  history: LocalHistory,
  onBegin: () => void,
  end: (run: LocalRun, ending: LocalEnding) => void,
): PastRuns {
  /** The prompt whose run has not begun, because more of its text may come. */
  let prompt: Prompt | undefined
  let run: LocalRun | undefined
  /** Whether the run's newest output is a text. A run that was cut off ends with its prompt or with a call. */
  let isAnswered = false
  let isWorking = false
  return { take, run: () => run, finish }

  function take({ prompt: piece, outputs = [], subagent, message, state }: DecodedUpdate): void {
    if (piece && isInterruptionNote(piece.text, agent)) {
      // Its own message may have begun without a text.
      if (prompt && (prompt.messageID === '' || prompt.messageID !== piece.messageID)) begin()
      prompt = undefined
      isAnswered = false
      endRun()
    } else if (piece) {
      // The prompt before has no answer. Some agents of version 1 send no ids.
      if (prompt && prompt.messageID !== '' && piece.messageID !== '' && prompt.messageID !== piece.messageID) begin()
      prompt = { ...piece, text: `${prompt?.text ?? ''}${piece.text}` }
    }
    if (outputs.some(({ type }) => type !== 'title') || subagent || message) begin()
    for (const { type } of outputs)
      if (type === 'text' || type === 'reasoning' || type === 'tool') isAnswered = type === 'text'
    if (state) isWorking = state.type === 'running'
  }

  /** Ends the run and begins the next one, if there is a prompt for it or no run at all. */
  function begin(): void {
    if (!prompt && run) return
    endRun()
    onBegin()
    isAnswered = false
    const text = prompt?.text ?? 'What came before the first prompt.'
    const synthetic = prompt ? undefined : true
    run = history.run({ parts: [{ type: 'text', text, synthetic }], messageID: prompt?.messageID || undefined })
    prompt = undefined
  }

  function finish(): LocalRun | undefined {
    if (prompt) begin()
    if (isWorking) return run
    // Other agents repeat a text that was cut off, so a last text may not be the whole answer.
    if (!dropsCutTexts(agent)) isAnswered = false
    endRun()
    return undefined
  }

  /** Ends the run, if there is one: as completed if it is answered, else as aborted. */
  function endRun(): void {
    if (run) end(run, isAnswered ? { type: 'completed' } : { type: 'aborted' })
    run = undefined
  }
}
