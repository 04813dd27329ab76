// The page of `npm run demo:web` with assistant-ui, on version 7 of the AI SDK. The demo bundles it. Its runtime takes the stream as
// it is. What it shows of reply's data parts are the elements of the page with `useChat`.
import '../../packages/ui/scripts/demo/page/no-eval.ts'

import { useChat } from '@ai-sdk/react'
import {
  AssistantRuntimeProvider,
  AuiIf,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useAuiState,
} from '@assistant-ui/react'
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk'
import { DefaultChatTransport } from 'ai'
import { createContext, useContext, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Permission, Questions } from '../../packages/ui/scripts/demo/page/ask.tsx'
import { chatIdInAddress } from '../../packages/ui/scripts/demo/page/chat-id.ts'
import { Markdown } from '../../packages/ui/scripts/demo/page/markdown.tsx'
import {
  Agent,
  ClosedAsk,
  Ending,
  Picture,
  RemoteFile,
  Thought,
  Todos,
} from '../../packages/ui/scripts/demo/page/message.tsx'
import { useServerState } from '../../packages/ui/scripts/demo/page/server-state.ts'
import { subjectIn, ToolCall } from '../../packages/ui/scripts/demo/page/tool.tsx'
import { sendWhenAnswered } from '../../packages/ui/src/client.ts'

const api = '/api/7/chat'
const transport = new DefaultChatTransport({
  api,
  prepareSendMessagesRequest: ({ id, messages, body, trigger, messageId }) => ({
    body: { ...body, id, messages: messages.slice(-1), trigger, messageId },
  }),
})

/** Sends answers to asks that have no tool part, such as those of sub-agents. */
const SendAnswers = createContext(() => {})

function Page({ chatId }) {
  const [problem, setProblem] = useState('')
  const chat = useChat({
    ...{ id: chatId, transport, sendAutomaticallyWhen: sendWhenAnswered },
    onError: ({ message }) => setProblem(message),
  })
  useServerState(chatId, chat, setProblem)
  const runtime = useAISDKRuntime(chat)
  const stop = async () => {
    const response = await fetch(`${api}/${encodeURIComponent(chatId)}`, { method: 'DELETE' })
    if (!response.ok) setProblem(await response.text())
  }
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <SendAnswers.Provider value={(answers) => void chat.sendMessage(undefined, { body: { answers } })}>
        <header className="page-head">
          <img src="/icon.svg" alt="" />
          <h1>reply</h1>
          <p>assistant-ui before a real OpenCode server with a scripted model</p>
          <a href="/">useChat</a>
          <a href="/assistant-ui">New chat</a>
        </header>
        <ThreadPrimitive.Viewport className="log" role="log" aria-label="Chat" tabIndex={0}>
          <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
          {problem !== '' && (
            <p className="notice" role="alert">
              {problem}
            </p>
          )}
        </ThreadPrimitive.Viewport>
        <footer className="foot">
          <ComposerPrimitive.Root className="composer">
            <ComposerPrimitive.Input aria-label="Message" placeholder="Write to the agent" rows={1} />
            <AuiIf condition={({ thread }) => !thread.isRunning}>
              <ComposerPrimitive.Send className="button primary">Send</ComposerPrimitive.Send>
            </AuiIf>
            <AuiIf condition={({ thread }) => thread.isRunning}>
              {/* assistant-ui's own Cancel only ends the stream. */}
              <button type="button" className="button" onClick={() => void stop()}>
                Stop
              </button>
            </AuiIf>
          </ComposerPrimitive.Root>
        </footer>
      </SendAnswers.Provider>
    </AssistantRuntimeProvider>
  )
}

function UserMessage() {
  return (
    <MessagePrimitive.Root className="message user">
      <div className="said">
        <MessagePrimitive.Parts />
      </div>
    </MessagePrimitive.Root>
  )
}

function AssistantMessage() {
  const metadata = useAuiState(({ message }) => message.metadata.unstable_state ?? message.metadata.custom)
  return (
    <MessagePrimitive.Root className="message assistant">
      <MessagePrimitive.Parts
        components={{
          Text: ({ text }) => text !== '' && <Markdown text={text} />,
          Reasoning: ({ text }) => text !== '' && <Thought text={text} />,
          File: ({ data, mimeType, filename }) => (
            <Picture file={{ url: data, mediaType: mimeType }} info={{ filename }} />
          ),
          tools: { Fallback: Tool },
          data: {
            by_name: {
              ask: ({ data }) => <Ask ask={data} />,
              agent: ({ data }) => <Agent agent={data} />,
              todos: ({ data }) => <Todos todos={data.todos} />,
              file: ({ data }) => <RemoteFile file={data} />,
            },
          },
        }}
      />
      {metadata?.outcome && <Ending metadata={metadata} />}
    </MessagePrimitive.Root>
  )
}

/** A tool call, with the ask that it waits for. Answers go the way of assistant-ui: `respondToApproval`, or the call's result. */
function Tool({ toolName, toolCallId, args, result, isError, status, approval, respondToApproval, addResult }) {
  const content = useAuiState(({ message }) => message.content)
  const ask = content
    .filter(({ type, name }) => type === 'data' && name === 'ask')
    .map(({ data }) => data)
    .find((data) => data.toolCallId === toolCallId && data.status === 'pending')
  if (ask?.questions)
    return (
      <Questions
        questions={ask.questions}
        isSent={false}
        onAnswer={(answers) => addResult(answers)}
        onReject={() => addResult({ result: 'Not answered.', isError: true })}
      />
    )
  const isRejected = approval?.approved === false
  const state = isRejected
    ? 'rejected'
    : isError
      ? 'failed'
      : result !== undefined
        ? 'done'
        : approval
          ? 'waiting'
          : 'running'
  const output = result === undefined || typeof result === 'string' ? result : (result.error ?? JSON.stringify(result))
  return (
    <>
      <ToolCall tool={toolName} title={subjectIn(args)} state={state} input={args} output={output} />
      {ask && (
        <Permission
          {...{ title: ask.title, details: ask.details, always: ask.always ?? [] }}
          isSent={status.type === 'running' || approval?.approved !== undefined}
          onAnswer={(choice) =>
            void respondToApproval({ approved: choice !== 'reject', ...(choice === 'always' && { reason: 'always' }) })
          }
        />
      )}
    </>
  )
}

/** An ask that is closed, or that has no tool part. */
function Ask({ ask }) {
  const sendAnswers = useContext(SendAnswers)
  const { id, title, details, always = [], questions, toolCallId } = ask
  if (ask.status !== 'pending') return <ClosedAsk ask={ask} />
  if (toolCallId !== undefined) return undefined
  const answer = (given) => sendAnswers([{ id, answer: given }])
  return questions ? (
    <Questions questions={questions} isSent={false} onAnswer={answer} onReject={() => answer('reject')} />
  ) : (
    <Permission {...{ title, details, always }} isSent={false} onAnswer={answer} />
  )
}

createRoot(document.getElementById('app')).render(<Page chatId={chatIdInAddress()} />)
