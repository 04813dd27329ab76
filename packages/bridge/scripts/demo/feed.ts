import type { ServerResponse } from 'node:http'
import type { PageOptions } from './page-server.ts'
import type { ChatUpdate, ChatView } from './view.ts'

/** The shortest time between two updates, in ms: a frame or three. */
const pauseMs = 40
/** How often is looked for what changes without an event, in ms: typing ends by itself. */
const lookMs = 500

/** Tells pages what changes in the chats, as server-sent events. */
export function createFeed({ chats, view, observe, suggestions }: Omit<PageOptions, 'port'>) {
  const pages = new Map<ServerResponse, (name: string, view: ChatView) => ChatUpdate | undefined>()
  let isPlanned = false
  const stop = observe(plan)
  const timer = setInterval(plan, lookMs)
  return {
    add: (response: ServerResponse): void => {
      pages.set(response, createDifference())
      response.on('close', () => pages.delete(response))
      // A page that is gone can't be written to; its end is heard by `close`.
      response.on('error', () => pages.delete(response))
      write(response, 'suggestions', suggestions)
      tell()
    },
    close: (): void => {
      stop()
      clearInterval(timer)
      for (const response of pages.keys()) response.end()
    },
  }

  function plan(): void {
    if (isPlanned || pages.size === 0) return
    isPlanned = true
    setTimeout(() => {
      isPlanned = false
      tell()
    }, pauseMs).unref()
  }

  function tell(): void {
    for (const chat of chats) {
      const now = view(chat)
      for (const [response, difference] of pages) {
        const update = difference(chat.name, now)
        if (update) write(response, 'chat', update)
      }
    }
  }
}

/** Remembers what one page was told, and returns what it has not been told yet. */
function createDifference(): (name: string, view: ChatView) => ChatUpdate | undefined {
  const heads = new Map<string, string>()
  const told = new Map<string, string>()
  return (name, { messages, ...rest }) => {
    const changed = messages.filter((message) => {
      const key = `${name} ${message.id}`
      const text = JSON.stringify(message)
      if (told.get(key) === text) return false
      told.set(key, text)
      return true
    })
    const head = { ...rest, order: messages.map(({ id }) => id) }
    const text = JSON.stringify(head)
    if (changed.length === 0 && heads.get(name) === text) return undefined
    heads.set(name, text)
    return { ...head, changed }
  }
}

function write(response: ServerResponse, event: string, data: unknown): void {
  response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
