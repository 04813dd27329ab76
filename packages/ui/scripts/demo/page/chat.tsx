import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { sendWhenAnswered } from '../../../src/client.ts'
import type { UIAsk } from '../../../src/index.ts'
import { answerWith } from './answer.ts'
import { Composer, type Suggestion } from './composer.tsx'
import { type Answer, Message, toolState } from './message.tsx'
import { pendingAsks, type ReplyMessage } from './reply-message.ts'
import { useServerState } from './server-state.ts'
import { StickyLog } from './sticky-log.tsx'

const transport = new DefaultChatTransport<ReplyMessage>({
  api: '/api/chat',
  // The server has the rest: it takes the text of a prompt, and the ids of asks with their answers.
  prepareSendMessagesRequest: ({ id, messages, body, trigger, messageId }) => ({
    body: { ...body, id, messages: messages.slice(-1), trigger, messageId },
  }),
})

/** The page: a chat with its log and what a person writes. */
export function Chat({ chatId }: { readonly chatId: string }): ReactNode {
  const [problem, setProblem] = useState('')
  const [retry, setRetry] = useState('')
  const [text, setText] = useState('')
  /** The prompt that is being sent. The server may refuse it. */
  const unsent = useRef('')
  const chat = useChat<ReplyMessage>({
    ...{ id: chatId, transport, sendAutomaticallyWhen: sendWhenAnswered, experimental_throttle: 40 },
    onData: (part) => {
      if (part.type === 'data-retry') setRetry(part.data.state === 'waiting' ? part.data.message : '')
    },
    onFinish: () => setRetry(''),
    onError: (error) => {
      setProblem(error.message)
      const refused = unsent.current
      unsent.current = ''
      setText((typed) => typed || refused)
    },
  })
  const { messages, status, sendMessage, addToolApprovalResponse, addToolOutput } = chat
  useEffect(() => {
    if (status === 'streaming') unsent.current = ''
  }, [status])
  const { suggestions, hasAssistantUi } = useAbout()
  const { isLoaded, isRefreshing, refresh } = useServerState(chatId, chat, setProblem)
  const last = messages.at(-1)
  const asks = last ? pendingAsks(last) : []
  const isStreaming = status === 'submitted' || status === 'streaming'

  const answer = useCallback(
    (ask: UIAsk, given: Answer) => {
      setProblem('')
      unsent.current = ''
      void answerWith({ sendMessage, addToolApprovalResponse, addToolOutput }, ask, given)
    },
    [sendMessage, addToolApprovalResponse, addToolOutput],
  )
  const stop = async (): Promise<void> => {
    // The chat's own `stop` only ends the stream. The run goes on until it is aborted.
    const response = await fetch(`/api/chat/${encodeURIComponent(chatId)}`, { method: 'DELETE' })
    if (!response.ok) return setProblem(await response.text())
    if (!isStreaming) await refresh()
  }
  return (
    <>
      <header className="page-head">
        <img src="/icon.svg" alt="" />
        <h1>reply</h1>
        <p>useChat before a real OpenCode server with a scripted model</p>
        {hasAssistantUi && <a href="/assistant-ui">assistant-ui</a>}
        <a href="/">New chat</a>
      </header>
      <StickyLog isBusy={isStreaming}>
        {isLoaded && messages.length === 0 && (
          <div className="empty">
            <h2>What shall the agent do?</h2>
            <p>It works in a small shop’s project, and asks before it runs or changes something.</p>
          </div>
        )}
        {messages.map((message) => (
          <Message
            key={message.id}
            message={message}
            isBusy={isStreaming || isRefreshing || message !== last}
            onAnswer={answer}
          />
        ))}
        {problem !== '' && (
          <p className="notice" role="alert">
            {problem}
          </p>
        )}
      </StickyLog>
      <Composer
        suggestions={suggestions}
        state={isStreaming ? 'busy' : asks.length > 0 ? 'asks' : problem === '' ? 'ready' : 'error'}
        activity={
          retry === ''
            ? activityIn(last, isStreaming, asks.length)
            : `The provider failed, and is tried again: ${retry}`
        }
        isDisabled={!isLoaded || isRefreshing}
        {...{ text, onText: setText }}
        onSend={(prompt) => {
          setProblem('')
          unsent.current = prompt
          void sendMessage({ text: prompt })
        }}
        onStop={() => void stop()}
      />
    </>
  )
}

/** What the page offers. */
interface About {
  readonly suggestions: readonly Suggestion[]
  /** Whether there is a page with assistant-ui. */
  readonly hasAssistantUi: boolean
}

/** Reads what the page offers. Nothing at first, and if the server doesn't tell. */
function useAbout(): About {
  const [about, setAbout] = useState<About>({ suggestions: [], hasAssistantUi: false })
  useEffect(() => {
    fetch('/about')
      .then(async (response) => setAbout(await response.json()))
      .catch(() => {})
  }, [])
  return about
}

/** Says in one line what the reply of a message does. */
function activityIn(message: ReplyMessage | undefined, isStreaming: boolean, asks: number): string {
  if (asks > 0) return asks === 1 ? 'The agent waits for your answer.' : `The agent waits for ${asks} answers.`
  if (!isStreaming) return ''
  const running = message?.parts.findLast((part) => part.type === 'dynamic-tool' && toolState(part) === 'running')
  return running?.type === 'dynamic-tool' ? `Runs ${running.toolName} …` : 'The agent works …'
}
