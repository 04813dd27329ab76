import type { UseChatHelpers } from '@ai-sdk/react'
import { useCallback, useEffect, useRef, useState } from 'react'
import { mayGoOn, type ReplyMessage } from './reply-message.ts'

type ChatHelpers = Pick<UseChatHelpers<ReplyMessage>, 'status' | 'setMessages' | 'resumeStream'>

/** What the server has of a chat. */
export interface ServerState {
  /** Whether the messages were read once. */
  readonly isLoaded: boolean
  /** Whether they are being read, so that nothing may be sent. */
  readonly isRefreshing: boolean
  /** Reads the messages, and follows the reply that runs. Does nothing while a stream is open. Resolves when that has ended. */
  readonly refresh: () => Promise<void>
}

/**
 * Reads what the server has of a chat at once, and again when the page comes to the front: another tab may have gone on with it
 * meanwhile. `onProblem` gets what went wrong.
 */
export function useServerState(chatId: string, chat: ChatHelpers, onProblem: (problem: string) => void): ServerState {
  const [isLoaded, setLoaded] = useState(false)
  const [isRefreshing, setRefreshing] = useState(false)
  const newest = useRef(chat)
  newest.current = chat
  const isRunning = useRef(false)

  const read = useCallback(async () => {
    const messages = await readMessages(chatId)
    setLoaded(true)
    // A message that was sent meanwhile has a stream of its own, and may be missing in what was read.
    if (!isIdle(newest.current)) return undefined
    newest.current.setMessages(messages)
    return messages
  }, [chatId])

  const refresh = useCallback(async () => {
    if (isRunning.current || !isIdle(newest.current)) return
    isRunning.current = true
    setRefreshing(true)
    try {
      const messages = await read()
      if (!messages || !mayGoOn(messages)) return
      await newest.current.resumeStream()
      // It may have ended between the two, and then nothing was streamed.
      await read()
    } catch (error) {
      onProblem(error instanceof Error ? error.message : String(error))
    } finally {
      isRunning.current = false
      setRefreshing(false)
    }
  }, [read, onProblem])

  useEffect(() => {
    const look = (): void => {
      if (document.visibilityState === 'visible') void refresh()
    }
    look()
    window.addEventListener('focus', look)
    document.addEventListener('visibilitychange', look)
    return () => {
      window.removeEventListener('focus', look)
      document.removeEventListener('visibilitychange', look)
    }
  }, [refresh])
  const { status } = chat
  useEffect(() => {
    // What was refused may be as it was, for example an ask that another tab has answered.
    if (status === 'error') void refresh()
  }, [status, refresh])
  return { isLoaded, isRefreshing, refresh }
}

/** Whether no stream is open, and none is about to be. */
function isIdle({ status }: ChatHelpers): boolean {
  return status === 'ready' || status === 'error'
}

/** Resolves with the messages of a chat, oldest first. Rejects if the server doesn't answer. */
async function readMessages(chatId: string): Promise<ReplyMessage[]> {
  const response = await fetch(`/messages/${encodeURIComponent(chatId)}`)
  if (!response.ok) throw new Error(await response.text())
  return await response.json()
}
