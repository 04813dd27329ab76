import { ReplyError } from '@reply/core'
import type { SourcePrompt } from '@reply/core/source'
import { unsupportedPrompt } from '../prompt-text.ts'
import type { CodexSettings, ThreadSettings } from './decode/settings.ts'

/**
 * The models of threads, and of the prompts that name one. In Codex, a prompt's model stays for the turns after it, so the
 * thread's own model is set again as soon as the turn has begun. That does not change the turn.
 */
export interface SettingsOfThreads {
  /** Call it with what Codex tells when a thread is opened. Does nothing if a prompt's model is still set there. */
  opened(threadID: string, settings: ThreadSettings | undefined): void
  /** Call it when Codex reports a thread's settings. They become the thread's own, unless they were set here. */
  changed(threadID: string, settings: ThreadSettings): void
  /** Returns the thread's own model, for prompts that name none. Undefined if Codex did not tell it. */
  modelOf(threadID: string): string | undefined
  /**
   * Returns the fields of `turn/start` for the model and the variant of a prompt, which are set from then on. Empty if the
   * prompt has neither, or if they are the thread's own. `turnID` is the thread's turn that goes on, which the prompt would
   * join. Throws `unsupported` if that has other settings, for a model of another provider, and if Codex did not tell the
   * thread's own model. Throws `invalid` for an empty model or variant.
   */
  set(threadID: string, prompt: Pick<SourcePrompt, 'model' | 'variant'>, turnID: string | undefined): object
  /** Call it with the turn that began with the fields of `set`. */
  began(threadID: string, turnID: string): void
  /** Sets the thread's own model again. Does nothing if it is set. Rejects if Codex refuses it. Call it again then. */
  restore(threadID: string): Promise<void>
}

interface ThreadState {
  own: ThreadSettings
  /** What a prompt has set and was not taken back so far. */
  set: CodexSettings | undefined
  /** The last turn with settings of its own. */
  turn: { readonly id: string; readonly settings: CodexSettings } | undefined
  /** What was set here and Codex has not reported so far, oldest first. */
  unreported: readonly CodexSettings[]
}

/** `name` is Codex's in errors. `update` sends `thread/settings/update`. */
export function createThreadSettings(name: string, update: (params: object) => Promise<unknown>): SettingsOfThreads {
  const threads = new Map<string, ThreadState>()
  return {
    opened: (threadID, own) => {
      const state = threads.get(threadID)
      // A new process has reported nothing.
      if (state?.set) state.unreported = []
      else if (own) threads.set(threadID, { own, set: undefined, turn: undefined, unreported: [] })
    },
    changed: (threadID, settings) => {
      const state = threads.get(threadID)
      if (!state) return
      const at = state.unreported.findIndex((one) => isSame(one, settings))
      if (at === -1) state.own = settings
      else {
        state.unreported = state.unreported.slice(at + 1)
        state.own = { ...state.own, mode: settings.mode }
      }
    },
    modelOf: (threadID) => threads.get(threadID)?.own.model,
    set: (threadID, { model, variant }, turnID) => {
      if (model === undefined && variant === undefined) return {}
      if (model?.modelID === '')
        throw new ReplyError('invalid', 'The model of a prompt is empty. Name one, or leave it out.')
      if (variant === '')
        throw new ReplyError('invalid', 'The variant of a prompt is empty. Name one, or leave it out.')
      const state = threads.get(threadID)
      if (!state) throw unsupportedPrompt(name, 'a model for a prompt of this session', 'Leave it out.')
      const { own, turn } = state
      if (model && !['openai', own.provider].includes(model.providerID)) {
        const cure = `Take one of ${[...new Set(['openai', own.provider])].join(' or ')}.`
        throw unsupportedPrompt(name, `a model of the provider ${model.providerID}`, cure)
      }
      const wanted = { model: model?.modelID ?? own.model, effort: variant ?? own.effort }
      const going = turn !== undefined && turn.id === turnID ? turn.settings : own
      if (turnID !== undefined && !isSame(going, wanted)) {
        const other = `${settingsText(wanted)} while it works with ${settingsText(going)}`
        throw unsupportedPrompt(
          name,
          `a prompt for ${other}`,
          'Send it after the turn, or leave out its model and variant.',
        )
      }
      if (isSame(own, wanted)) return {}
      state.set = wanted
      state.unreported = [...state.unreported, wanted]
      return fieldsOf(wanted)
    },
    began: (threadID, id) => {
      const state = threads.get(threadID)
      if (state?.set) state.turn = { id, settings: state.set }
    },
    restore: async (threadID) => {
      const state = threads.get(threadID)
      if (!state?.set) return
      const { own, set } = state
      state.unreported = [...state.unreported, own]
      // Codex ignores an effort of null everywhere else.
      const isUnset = own.effort === undefined && set.effort !== undefined
      await update({ threadId: threadID, ...(isUnset ? { collaborationMode: modeOf(own) } : fieldsOf(own)) })
      state.set = undefined
    },
  }
}

/** Without an effort, the field is left out. */
function fieldsOf({ model, effort }: CodexSettings): object {
  return { model, ...(effort !== undefined && { effort }) }
}

/** The mode of a thread whose effort is the model's own. */
function modeOf({ model, mode }: ThreadSettings): object {
  const { name = 'default', instructions = '' } = mode ?? {}
  return { mode: name, settings: { model, reasoning_effort: null, developer_instructions: instructions } }
}

const isSame = (one: CodexSettings, other: CodexSettings): boolean =>
  one.model === other.model && one.effort === other.effort

const settingsText = ({ model, effort }: CodexSettings): string =>
  effort === undefined ? `the model ${model}` : `the model ${model} and the effort ${effort}`
