import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agentBinary } from '@reply/testing/internal'
import type { AcpOptions } from '../../src/acp.ts'
import { qwenScripts } from './adapter-scripts.ts'
import { launchWith } from './adapter-stage.ts'
import type { Stage } from './launch.ts'

/** A live Qwen Code that plays a scene against the scripted model. */
export async function launchQwen(scene: string, onMessage?: AcpOptions['onMessage'], version?: string): Promise<Stage> {
  const [command, program] = await Promise.all([agentBinary('node'), agentBinary('qwen', version)])
  return await launchWith(qwenScripts, scene, async ({ home, url }) => {
    const settings = {
      security: { auth: { selectedType: 'openai' } },
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
    }
    await mkdir(join(home, '.qwen'), { recursive: true })
    await writeFile(join(home, '.qwen', 'settings.json'), JSON.stringify(settings))
    return {
      command,
      args: [program, '--acp'],
      name: 'qwen',
      env: { HOME: home, OPENAI_API_KEY: 'scripted-key', OPENAI_BASE_URL: url, OPENAI_MODEL: 'scripted' },
      onMessage,
    }
  })
}
