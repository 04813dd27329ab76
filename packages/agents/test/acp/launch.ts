import { type ScriptedModel, scenarios, startModel } from '@reply/testing'
import { prepareOpencode } from '@reply/testing/internal'
import { type AcpClient, acp, opencodeAcp } from '../../src/acp.ts'
import type { Scene } from './scenes.ts'

/** A live `opencode acp` for a scene. */
export interface Stage {
  readonly client: AcpClient
  readonly root: string
  readonly directory: string
  readonly home: string
  readonly modelPort: number
  readonly model?: ScriptedModel
  /** Another client of the same agent, in the same home and folder. Close it first. */
  readonly restart?: () => AcpClient
  /** Resolves when the client has sent so many requests of this method. */
  readonly whenSent?: (method: string, count: number) => Promise<void>
  close(): Promise<void>
}

export async function launch(
  scene: Pick<Scene, 'preset'> & { readonly scenario: string | readonly string[] },
  onMessage?: (from: 'agent' | 'client', json: string) => void,
): Promise<Stage> {
  const names = [scene.scenario].flat()
  const found = scenarios.filter(({ name }) => names.includes(name))
  const scripts = Object.assign({}, ...found.map((one) => one.scripts))
  const permission = Object.assign({}, ...found.map(({ config }) => config?.permission))
  const files = Object.assign({}, ...found.map((one) => one.files))
  const model = await startModel({ scripts, ...(names[0] && { fallback: names[0] }) })
  const opencode = await prepareOpencode({ model, files, config: { ...found[0]?.config, permission } })
  const { command, env, directory, root } = opencode
  const options = { command, env, cwd: directory, onMessage }
  const client = scene.preset ? opencodeAcp(options) : acp({ ...options, args: ['acp'] })
  return {
    client,
    root,
    directory,
    home: `${root}/home`,
    modelPort: Number(new URL(model.url).port),
    close: async () => {
      await client.close()
      await model.close()
      await opencode.remove()
    },
  }
}
