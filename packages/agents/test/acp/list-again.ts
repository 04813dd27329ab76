import type { SessionInfo } from '@reply/core/source'
import type { Stage } from './launch.ts'

/** The sessions that another process of an agent lists. */
export interface Listed {
  /** The session that the first process had. */
  readonly sessionID: string
  readonly here: readonly SessionInfo[]
  readonly elsewhere: readonly SessionInfo[]
  readonly everywhere: readonly SessionInfo[]
}

/** Lists the sessions of an agent's ended process with another one. `onRestart` is called in between. */
export async function listAgain(stage: Stage, mode: string, onRestart = (): void => {}): Promise<Listed> {
  const { client, directory, restart } = stage
  if (!restart) throw new Error('The stage can not restart its agent.')
  const { sessionID } = await client.prompt({ text: '[scenario:text] Go.', agent: mode }).result
  await client.close()
  onRestart()
  const again = restart()
  await again.ready
  const listed = await listedBy(again, directory)
  await again.close()
  return { sessionID, ...listed }
}

/** The sessions of the folder, of another one, and of all. */
export async function listedBy({ sessions }: Pick<Stage['client'], 'sessions'>, directory: string) {
  return {
    here: await sessions({ directory }),
    elsewhere: await sessions({ directory: `${directory}/other` }),
    everywhere: await sessions(),
  }
}
