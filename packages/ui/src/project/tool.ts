import { escapeDeceptive, subjectOf, type ToolPart } from '@reply/core'
import type { UIAsk, UIChunk7 } from '../chunk.ts'
import { type AskIndex, answerIDOf, askData, canAllow } from './asks.ts'

/** What a page knows of a call. */
export interface ToolView {
  readonly tool: string
  readonly title: string | undefined
  /** Undefined while the model writes it. In an object, because an input may be any value. */
  readonly input: { readonly value: unknown } | undefined
  /** Whether the agent runs it. False while a page can answer its questions with `addToolOutput`. */
  readonly isExecuted: boolean
  /** The permission that it waits for. */
  readonly approval?: { readonly id: string; readonly ask?: UIAsk } | undefined
  /** Whether the page has answered that permission, as far as it knows. */
  readonly isAnswered?: boolean | undefined
  /** The end of what it has written so far. */
  readonly progress?: string | undefined
  readonly end?: ToolEnd | undefined
}

type ToolEnd =
  | { readonly type: 'output'; readonly value: unknown }
  | { readonly type: 'error'; readonly text: string }
  | { readonly type: 'denied'; readonly approvalId: string | undefined }

/** UTF-16 units of a title. */
const titleLength = 120

/** UTF-16 units of a running call's output. More would be sent again with each line. The whole output follows at the end. */
const progressLength = 4096

/** Returns a call as a page shows it, with the ask that it waits for. */
export function toolView(part: ToolPart, asks: AskIndex): ToolView {
  const { tool, state } = part
  const view = { tool, title: titleOf(part), isExecuted: true }
  const ask = asks.of(part)
  // The questions as they are asked, with all that the model left out.
  const questions = ask?.type === 'question' && ask.questions.length > 0 ? { questions: ask.questions } : undefined
  const input = shownInput(questions ?? state.input)
  if (state.status === 'completed') return { ...view, input, end: { type: 'output', value: state.output ?? '' } }
  if (state.status === 'error') {
    const isDenied = ask?.type === 'permission' && ask.status === 'rejected'
    return {
      ...view,
      input,
      end: isDenied
        ? { type: 'denied', approvalId: answerIDOf(ask) }
        : { type: 'error', text: state.error ?? 'The call was aborted.' },
    }
  }
  if (ask?.status === 'pending' && questions) return { ...view, input, isExecuted: false }
  if (ask?.status === 'pending' && ask.type === 'permission' && ask.call && canAllow(ask) && asks.isListed(ask)) {
    const approval = { id: answerIDOf(ask), ask: askData(ask, part.id) }
    return { ...view, input: shownInput(ask.call.input), approval }
  }
  if (state.status === 'pending') return { ...view, input: undefined }
  const output = state.metadata?.output
  const progress = typeof output === 'string' && output !== '' ? output.slice(-progressLength) : undefined
  return { ...view, input, progress }
}

/** What the call is about, in one line. A page may show it above its buttons, so nothing in it looks like something else. */
function titleOf(part: ToolPart): string | undefined {
  const subject = subjectOf(part)
  return subject === undefined ? undefined : escapeDeceptive(subject.slice(0, titleLength)).replace(/\s+/g, ' ')
}

/** An input that can be written as JSON. One that is nested too deeply can't, and can't be allowed either. */
function shownInput(value: unknown): { readonly value: unknown } {
  return { value: jsonOf(value) === undefined ? 'The input is nested too deeply to be shown.' : value }
}

/** Undefined if the value can't be written as JSON. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** Where the chunks of a call go. */
interface ToolPlace {
  /** The part's id. Providers repeat the ids of calls. */
  readonly toolCallId: string
  /** Whether its step is the current one. A front end doesn't find a call of an earlier step for its input. */
  readonly isInStep: boolean
  readonly version: 6 | 7
}

/** Returns the chunks that a page needs to get from one view of a call to another. Without the first, it doesn't know the call. */
export function toolChunks(place: ToolPlace, before: ToolView | undefined, after: ToolView): readonly UIChunk7[] {
  const { toolCallId, isInStep, version } = place
  const { tool: toolName, title, isExecuted: providerExecuted } = after
  const call = { toolCallId, dynamic: true as const, providerExecuted }
  const named = { ...call, toolName, ...(title !== undefined && { title }) }
  const chunks: UIChunk7[] = []
  const input = after.input ?? (after.end ? { value: {} } : undefined)
  const needsInput = input !== undefined && (before === undefined || (isInStep && needsInputAgain(before, after)))
  if (needsInput) chunks.push({ type: 'tool-input-available', ...named, input: input.value })
  else if (before === undefined) chunks.push({ type: 'tool-input-start', ...named })
  const known = needsInput ? undefined : before
  if (after.approval && (known?.approval?.id !== after.approval.id || known.isAnswered))
    chunks.push(approvalRequest(toolCallId, after.approval, version))
  if (after.progress !== undefined && after.progress !== known?.progress)
    chunks.push({ type: 'tool-output-available', ...call, output: after.progress, preliminary: true })
  if (after.end && !(known && isSameEnd(known.end, after.end)))
    chunks.push(...endChunks(place, call, after.end, before?.approval !== undefined))
  return chunks
}

/** Whether a page has to see the input once more: it changed, or the page is further than the call. */
function needsInputAgain(before: ToolView, after: ToolView): boolean {
  if (!before.input || !after.input) return after.input !== undefined
  if (before.title !== after.title || before.isExecuted !== after.isExecuted)
    return !after.end || before.title !== after.title
  if (before.end && !after.end) return true
  if (before.approval && !after.approval && !after.end) return true
  return before.input.value !== after.input.value && jsonOf(before.input.value) !== jsonOf(after.input.value)
}

function approvalRequest(toolCallId: string, { id, ask }: NonNullable<ToolView['approval']>, version: 6 | 7): UIChunk7 {
  const request = { type: 'tool-approval-request' as const, toolCallId, approvalId: id }
  return version === 7 && ask ? { ...request, approvalDescriptor: ask } : request
}

function isSameEnd(a: ToolEnd | undefined, b: ToolEnd): boolean {
  if (a?.type === 'output') return b.type === 'output' && a.value === b.value
  if (a?.type === 'error') return b.type === 'error' && a.text === b.text
  return a?.type === b.type
}

/** The chunks of an end. A front end expects the approval of a call that was denied, so a late reader gets that too. */
function endChunks(
  { toolCallId, version }: ToolPlace,
  call: { readonly toolCallId: string; readonly dynamic: true; readonly providerExecuted: boolean },
  end: ToolEnd,
  hasApproval: boolean,
): readonly UIChunk7[] {
  if (end.type === 'output')
    return [{ type: 'tool-output-available', ...call, output: typeof end.value === 'string' ? end.value : '' }]
  if (end.type === 'error') return [{ type: 'tool-output-error', ...call, errorText: end.text }]
  const { approvalId } = end
  const request: readonly UIChunk7[] =
    hasApproval || approvalId === undefined ? [] : [{ type: 'tool-approval-request', toolCallId, approvalId }]
  const response: readonly UIChunk7[] =
    version === 7 && approvalId !== undefined ? [{ type: 'tool-approval-response', approvalId, approved: false }] : []
  return [...request, ...response, { type: 'tool-output-denied', toolCallId }]
}
