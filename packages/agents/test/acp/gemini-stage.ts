import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callTool, createProject, holdAnswer, httpError, type Scripts, sayText, startModel } from '@reply/testing'
import { agentBinary } from '@reply/testing/internal'
import { acp } from '../../src/acp.ts'
import type { Stage } from './launch.ts'

const command = callTool('run_shell_command', { command: 'touch made.txt', description: 'Make a file' })

const scripts: Scripts = {
  tool: { steps: [[callTool('list_directory', { dir_path: '.' })], [sayText('I looked.')]] },
  error: { steps: [[httpError(401, 'The key is wrong.')]] },
  text: { steps: [[sayText('Hello from Gemini CLI.')]] },
  'permission-allowed': { steps: [[sayText('I will run it.'), command], [sayText('It ran.')]] },
  'permission-rejected': { steps: [[sayText('I will run it.'), command], [sayText('Then not.')]] },
  abort: {
    steps: [
      [sayText('This answer will never come to its end, because'), holdAnswer('middle'), sayText(' it is late.')],
    ],
  },
}

/** A live Gemini CLI that plays a scene against the scripted model. */
export async function launchGemini(
  scene: string,
  onMessage?: (from: 'agent' | 'client', json: string) => void,
): Promise<Stage> {
  const program = await agentBinary('gemini')
  const model = await startModel({ scripts, fallback: scene })
  const project = await createProject()
  const { home, root, directory } = project
  await mkdir(join(home, '.gemini'), { recursive: true })
  const settings = {
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { disableAutoUpdate: true },
    privacy: { usageStatisticsEnabled: false },
  }
  await writeFile(join(home, '.gemini', 'settings.json'), JSON.stringify(settings))
  const client = acp({
    command: process.execPath,
    args: [program, '--experimental-acp'],
    name: 'gemini',
    cwd: directory,
    env: { HOME: home, GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: model.origin },
    onMessage,
  })
  return {
    client,
    root,
    directory,
    home,
    modelPort: Number(new URL(model.url).port),
    close: async () => {
      await client.close()
      await model.close()
      await project.remove()
    },
  }
}
