import { SlackError } from '../error.ts'

/** The part of `SocketModeClient` that hears frames. */
export interface FrameClient {
  listeners(event: 'ws_message'): readonly ((...frame: never[]) => unknown)[]
  removeAllListeners(event: 'ws_message'): unknown
  on(event: 'ws_message', listener: (...frame: unknown[]) => void): unknown
}

/**
 * Reports frames that the client itself can't read, and passes them over. It reads each in a promise that it doesn't
 * await, so that an envelope without an event would end the process.
 */
export function guardFrames(client: FrameClient, onError: (error: SlackError) => void): void {
  const readers = client.listeners('ws_message')
  client.removeAllListeners('ws_message')
  for (const reader of readers) {
    client.on('ws_message', (...frame) => {
      new Promise((resolve) => resolve(Reflect.apply(reader, client, frame))).catch((cause: unknown) => {
        const what = cause instanceof Error ? cause.name : 'no reason'
        onError(new SlackError('updates', `A frame of Slack's socket is unreadable, and was passed over: ${what}.`))
      })
    })
  }
}
