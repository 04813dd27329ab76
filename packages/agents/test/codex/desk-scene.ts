import type { Client, PermissionAsk, Reply } from '@reply/core'
import type { ScriptedModel } from '@reply/testing'
import { collectReplies } from '../collect-replies.ts'

interface DeskStage {
  /** The client that begins the runs. Absent on a recording. */
  readonly desk?: Client | undefined
  readonly model?: ScriptedModel | undefined
}

/**
 * Two runs of a client at the desk. The chat allows what the first one asks, and stops the second one. Resolves with the
 * replies that the chat shows.
 */
export async function playDesk(chat: Client, directory: string, { desk, model }: DeskStage): Promise<readonly Reply[]> {
  let shownID = ''
  const { begun, settled } = collectReplies(chat, directory, {
    permissionAsked: ({ ask }) => {
      shownID = ask.sessionID
      void chat.answer(ask, 'once')
    },
  })
  const first = await desk?.prompt({ text: '[scenario:permission] Go.' }).result
  await begun(1)
  desk?.prompt({ text: '[scenario:slow] Go.', sessionID: first?.sessionID })
  await model?.held('slow')
  await begun(2)
  await chat.abort({ sessionID: shownID })
  return await settled((replies) => replies.length === 2)
}

/** Begins a run at the desk, and resolves with what it asks, as the desk has it. */
export async function promptAndWait(desk: Client): Promise<PermissionAsk> {
  const asked = new Promise<PermissionAsk>((resolve) => {
    desk.on('permissionAsked', ({ ask }) => resolve(ask))
  })
  desk.prompt({ text: '[scenario:permission] Go.' })
  return await asked
}

/** The chat sees a run whose request `answer` allows at the desk. Resolves with the replies that it shows. */
export async function playAnsweredDesk(
  chat: Client,
  directory: string,
  begin: () => Promise<unknown>,
  answer: () => Promise<unknown>,
): Promise<readonly Reply[]> {
  const { seen, settled } = collectReplies(chat, directory)
  await begin()
  await seen(({ asks }) => asks.length > 0)
  await answer()
  return await settled((replies) => replies.length === 1)
}

/** A client that connects while a run of the desk asks allows that. Resolves with the replies that it shows. */
export async function playLateDesk(chat: Client, directory: string): Promise<readonly Reply[]> {
  const { settled } = collectReplies(chat, directory, {
    permissionAsked: ({ ask }) => void chat.answer(ask, 'once'),
  })
  return await settled((replies) => replies.length === 1)
}
