import type { ServerResponse } from 'node:http'
import type { PageOptions } from './page-server.ts'
import type { ChatUpdate, ChatView } from './view.ts'

/** The shortest time between two updates, in ms: up to three frames. */
const pauseMs = 40
/** How often to check for changes without an event, in ms, for example the end of typing. */
const lookMs = 500

/**
 * Sends changes of the chats to pages, as server-sent events. `add` sends a new page everything. `close` ends all responses.
 */
export function createFeed({ chats, view, observe, suggestions }: Omit<PageOptions, 'port'>) {
  const pages = new Map<ServerResponse, (name: string, view: ChatView) => ChatUpdate | undefined>()
  let isPlanned = false
  const stop = observe(plan)
  const timer = setInterval(plan, lookMs)
  return {
    add: (response: ServerResponse): void => {
      pages.set(response, createDifference())
      response.on('close', () => pages.delete(response))
      // A write to a closed page fails. Its `close` event removes it.
      response.on('error', () => pages.delete(response))
      write(response, 'suggestions', suggestions)
      notify()
    },
    close: (): void => {
      stop()
      clearInterval(timer)
      for (const response of pages.keys()) response.end()
    },
  }

  /** Sends the changes after `pauseMs`. Does nothing if that is planned already, or without pages. */
  function plan(): void {
    if (isPlanned || pages.size === 0) return
    isPlanned = true
    setTimeout(() => {
      isPlanned = false
      notify()
    }, pauseMs).unref()
  }

  /** Sends each page what changed for it. */
  function notify(): void {
    for (const chat of chats) {
      const now = view(chat)
      for (const [response, difference] of pages) {
        const update = difference(chat.name, now)
        if (update) write(response, 'chat', update)
      }
    }
  }
}

/**
 * Returns a function for one page that remembers the last view of each chat, and returns the changes since then. Undefined if
 * there are none.
 */
function createDifference(): (name: string, view: ChatView) => ChatUpdate | undefined {
  const heads = new Map<string, string>()
  const sent = new Map<string, string>()
  return (name, { messages, ...rest }) => {
    const changed = messages.filter((message) => {
      const key = `${name} ${message.id}`
      const text = JSON.stringify(message)
      if (sent.get(key) === text) return false
      sent.set(key, text)
      return true
    })
    const head = { ...rest, order: messages.map(({ id }) => id) }
    const text = JSON.stringify(head)
    if (changed.length === 0 && heads.get(name) === text) return undefined
    heads.set(name, text)
    return { ...head, changed }
  }
}

/** Writes one server-sent event, with its data as JSON. */
function write(response: ServerResponse, event: string, data: unknown): void {
  response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
