import type { LocalEnding, LocalHistory, LocalRun } from '@reply/core/source'
import { dropsCutTexts, isInterruptionNote } from './claude-history.ts'
import type { DecodedUpdate } from './decode/update.ts'

/** Turns the updates that repeat the past of a session into its runs. */
export interface Replay {
  /** Begins the run of an update, and ends the one before it. Call it before you write the update's output. */
  take(update: DecodedUpdate): void
  /** Ends the last run, and returns undefined. If the session still works, returns the run without ending it. */
  finish(): LocalRun | undefined
}

type Prompt = NonNullable<DecodedUpdate['prompt']>

/**
 * `onBegin` is called before a run begins, and `end` ends a run. Agents don't repeat how a run ended: the last one is aborted
 * unless it ends with a text that can't have been cut off.
 */
export function createReplay(
  agent: string | undefined,
  history: LocalHistory,
  onBegin: () => void,
  end: (run: LocalRun, ending: LocalEnding) => void,
): Replay {
  /** The prompt whose run has not begun, because more of its text may come. */
  let prompt: Prompt | undefined
  let run: LocalRun | undefined
  /** Whether the run's newest output is a text. A run that was cut off ends with its prompt or with a call. */
  let isAnswered = false
  let isWorking = false
  return { take, finish }

  function take({ prompt: piece, outputs = [], subagent, message, state }: DecodedUpdate): void {
    if (piece && isInterruptionNote(piece.text, agent)) {
      // Its own message may have begun without a text.
      if (prompt && prompt.messageID !== piece.messageID) begin()
      prompt = undefined
      isAnswered = false
      endRun()
    } else if (piece) {
      if (prompt && prompt.messageID !== piece.messageID) begin()
      prompt = { ...piece, text: `${prompt?.text ?? ''}${piece.text}` }
    }
    if (outputs.some(({ type }) => type !== 'title') || subagent || message) begin()
    for (const { type } of outputs) if (type === 'text' || type === 'tool') isAnswered = type === 'text'
    if (state) isWorking = state.type === 'running'
  }

  function begin(): void {
    if (!prompt && run) return
    endRun()
    onBegin()
    isAnswered = false
    const text = prompt?.text ?? 'What came before the first prompt.'
    const synthetic = prompt ? undefined : true
    run = history.run({ parts: [{ type: 'text', text, synthetic }], messageID: prompt?.messageID })
    prompt = undefined
  }

  function finish(): LocalRun | undefined {
    if (prompt) begin()
    if (isWorking) return run
    if (!dropsCutTexts(agent)) isAnswered = false
    endRun()
    return undefined
  }

  function endRun(): void {
    if (run) end(run, isAnswered ? { type: 'completed' } : { type: 'aborted' })
    run = undefined
  }
}
