import type { UseChatHelpers } from '@ai-sdk/react'
import type { UIAsk } from '../../../src/index.ts'
import type { Answer } from './message.tsx'
import type { ReplyMessage } from './reply-message.ts'

type ChatHelpers = Pick<UseChatHelpers<ReplyMessage>, 'addToolApprovalResponse' | 'addToolOutput' | 'sendMessage'>

/** Answers an ask: at its tool part if it has one, or else in the body of a request. */
export async function answerWith(chat: ChatHelpers, ask: UIAsk, answer: Answer): Promise<void> {
  const { id, type, toolCallId } = ask
  if (toolCallId === undefined) return await chat.sendMessage(undefined, { body: { answers: [{ id, answer }] } })
  if (type === 'permission') {
    const reason = answer === 'always' ? { reason: 'always' } : {}
    return await chat.addToolApprovalResponse({ id, approved: answer !== 'reject', ...reason })
  }
  const tool = 'question'
  if (typeof answer === 'string')
    return await chat.addToolOutput({ tool, toolCallId, state: 'output-error', errorText: 'Not answered.' })
  await chat.addToolOutput({ tool, toolCallId, output: answer })
}
