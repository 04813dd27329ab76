import type { ChatState, UIMessage } from 'ai'

/** The state of a chat of the AI SDK, as `useChat` has it, without React. */
export function createChatState<Message extends UIMessage>(initial: readonly Message[] = []): ChatState<Message> {
  let messages = [...initial]
  return {
    status: 'ready',
    error: undefined,
    get messages() {
      return messages
    },
    set messages(all) {
      messages = all
    },
    pushMessage: (message) => {
      messages = [...messages, structuredClone(message)]
    },
    popMessage: () => {
      messages = messages.slice(0, -1)
    },
    replaceMessage: (index, message) => {
      messages = messages.with(index, structuredClone(message))
    },
    snapshot: (value) => structuredClone(value),
  }
}
