import type { LocalEnding, LocalHistory, LocalOutput, LocalRun } from '@reply/core/source'
import { dropsCutTexts, isInterruptionNote } from './claude-history.ts'
import type { Dialect } from './dialect.ts'
import { createSessionStore } from './session-store.ts'
import { createSubagents } from './subagents.ts'

/**
 * Adds the runs of a loaded session to `history`, from the updates that have repeated it. Version 1 of the protocol doesn't
 * say how a run ended: the last one is aborted unless it ends with a text that can't have been cut off. `runOf` returns the
 * run of a sub-agent.
 */
export function createHistoryReader(dialectOf: () => Dialect, runOf: (sessionID: string) => LocalRun | undefined) {
  return (sessionID: string, updates: readonly unknown[], history: LocalHistory, agent: string | undefined): void => {
    const sessions = createSessionStore(dialectOf, () => undefined)
    const subagents = createSubagents((id) => (id === sessionID ? run : runOf(id)), sessions)
    let run: LocalRun | undefined
    /** A prompt whose run has not begun. */
    let prompt: { readonly messageID: string | undefined; readonly text: string } | undefined
    let last: LocalOutput['type'] | undefined
    for (const params of updates) {
      const updated = sessions.update(params, () => false)
      if (!updated) continue
      const { decoded, sessionID: id } = updated
      if (id === sessionID && decoded.prompt && isInterruptionNote(decoded.prompt.text, agent)) {
        if (prompt) begin()
        end({ type: 'aborted' })
      } else if (id === sessionID && decoded.prompt) addPrompt(decoded.prompt)
      else if (decoded.outputs || decoded.subagent || decoded.message) {
        begin()
        if (decoded.message) subagents.receive(decoded.message)
        else subagents.begin(id)
        if (decoded.subagent) subagents.report(id, decoded.subagent)
        const target = id === sessionID ? run : runOf(id)
        target?.write(...(decoded.outputs ?? []))
        if (id === sessionID) last = decoded.outputs?.findLast(isPart)?.type ?? last
      }
    }
    if (prompt) begin()
    end(last === 'text' && dropsCutTexts(agent) ? { type: 'completed' } : { type: 'aborted' })

    function addPrompt(piece: { readonly messageID: string; readonly text: string }): void {
      if (prompt?.messageID !== undefined && piece.messageID && prompt.messageID !== piece.messageID) {
        // The prompt before has no answer.
        begin()
        end({ type: 'aborted' })
      }
      if (!prompt) end({ type: 'completed' })
      prompt = { messageID: piece.messageID || undefined, text: (prompt?.text ?? '') + piece.text }
    }

    function begin(): void {
      if (run && !prompt) return
      const { text = 'The session began without a prompt.', messageID } = prompt ?? {}
      const synthetic = prompt ? undefined : true
      run = history.run({ parts: [{ type: 'text', text, synthetic }], messageID })
      sessions.beginRun(sessionID)
      prompt = undefined
      last = undefined
    }

    function end(ending: LocalEnding): void {
      subagents.abortBelow(sessionID)
      run?.end(ending)
      run = undefined
    }
  }
}

function isPart({ type }: LocalOutput): boolean {
  return type === 'text' || type === 'reasoning' || type === 'tool' || type === 'file'
}
