import { connect } from '@reply/core'
import { launchOpencode, type ScriptedModel, type Scripts, startModel } from '@reply/testing'
import { demoFiles } from '@reply/testing/internal'
import { createChatHandler } from '../../src/index.ts'
import { bundleAssistantUi, bundleChat, hasAssistantUi } from './bundle.ts'
import { createChats } from './chats.ts'
import { type Route, servePage } from './page-server.ts'
import { scripts as ownScripts, permissions, pictureFiles, scriptFor, suggestions } from './scripts.ts'

/** Options of `startWebDemo`. */
export interface DemoOptions {
  /** Of the page. Default: any free one. */
  readonly port?: number
  /** Pause between two chunks of the model, in ms. Default 12, slow enough to read along. */
  readonly chunkDelayMs?: number
  /** Scripts for the model besides the demo's own, by the name in a prompt's `[scenario:name]`. */
  readonly scripts?: Scripts
  /** Files of the project besides the demo's own. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** Called with errors of the connection and of the handlers. Default: they are dropped. */
  readonly onError?: (error: Error) => void
}

/** A running demo. */
export interface Demo {
  /** The address of the page with `useChat`. */
  readonly url: string
  /** The address of the page with assistant-ui. Undefined if that is not installed. */
  readonly assistantUi: string | undefined
  /** The model of the OpenCode server. */
  readonly model: ScriptedModel
  /** The version of the OpenCode server. */
  readonly version: string
  /** Stops everything and removes its files. */
  close(): Promise<void>
}

/**
 * Starts a real OpenCode server with a scripted model, and serves the page before it. Its chats are in memory. If something can't
 * start, what started before it is closed.
 */
export async function startWebDemo(options: DemoOptions = {}): Promise<Demo> {
  const closers: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (const one of closers.splice(0).reverse()) await one()
  }
  try {
    return { ...(await start(options, (closer) => closers.push(closer))), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Starts all parts, and passes `onClose` a function for each that stops it. Rejects if one can't start, and stops none then. */
async function start(
  options: DemoOptions,
  onClose: (close: () => Promise<unknown>) => void,
): Promise<Omit<Demo, 'close'>> {
  const { port = 0, chunkDelayMs = 12, onError = () => {}, scripts = {}, files = {} } = options
  const scriptsOfPages = await bundles()
  const model = await startModel({
    ...{ scripts: { ...ownScripts, ...scripts }, fallback: scriptFor, chunkDelayMs, chunk: 4 },
  })
  onClose(model.close)
  const server = await launchOpencode({
    ...{ model, files: { ...demoFiles, ...(await pictureFiles()), ...files }, config: { permission: permissions } },
  })
  onClose(server.stop)
  const client = connect({ url: server.url, directory: server.directory, onError })
  onClose(client.close)
  const chats = createChats(client)
  // This page is on loopback and has one person, who may see all chats and answer all that the agent asks.
  const handlers = ([6, 7] as const).map((version) =>
    createChatHandler(client, {
      sessionOf: (_, chatId) => chats.sessionOf(chatId),
      mayAnswer: () => true,
      version,
      onError: (error) => onError(error instanceof Error ? error : new Error(String(error))),
    }),
  )
  const [six, seven] = handlers
  const route: Route = async (request, path) => {
    if (path === '/about') return Response.json({ suggestions, hasAssistantUi })
    if (request.method === 'GET' && path.startsWith('/messages/'))
      return Response.json(await chats.messagesOf(decodeURIComponent(path.slice('/messages/'.length))))
    if (path.startsWith('/api/chat')) return await six?.(request)
    return path.startsWith('/api/7/chat') ? await seven?.(request) : undefined
  }
  const page = await servePage({
    ...{ port, route, bundles: scriptsOfPages },
    pages: { '/': '/app.js', ...(hasAssistantUi && { '/assistant-ui': '/assistant-ui.js' }) },
  })
  onClose(page.close)
  onClose(async () => {
    for (const handler of handlers) handler.close()
  })
  const assistantUi = hasAssistantUi ? `${page.url}assistant-ui` : undefined
  return { url: page.url, assistantUi, model, version: server.version }
}

/** Bundles the scripts of the pages. */
async function bundles(): Promise<Readonly<Record<string, Uint8Array>>> {
  return {
    '/app.js': await bundleChat(),
    ...(hasAssistantUi && { '/assistant-ui.js': await bundleAssistantUi() }),
  }
}
