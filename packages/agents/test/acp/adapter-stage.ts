import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createProject, type Scripts, startModel } from '@reply/testing'
import { agentBinary } from '@reply/testing/internal'
import { type AcpOptions, acp } from '../../src/acp.ts'
import { claudeScripts, codexScripts } from './adapter-scripts.ts'
import type { Stage } from './launch.ts'

type OnMessage = AcpOptions['onMessage']

/** A live claude-agent-acp that plays a scene against the scripted model. */
export async function launchClaude(
  scene: string,
  onMessage?: OnMessage,
  version?: string,
  protocol?: AcpOptions['protocol'],
): Promise<Stage> {
  // Its SDK needs Node 22: https://github.com/agentclientprotocol/claude-agent-acp, `engines` of its package.
  const [command, program] = await Promise.all([agentBinary('node'), agentBinary('claude-acp', version)])
  return await launchWith(claudeScripts, scene, async ({ home, origin }) => {
    // It asks for the right to skip permissions unless settings forbid it, and as root does not start with it.
    const settings = { permissions: { disableBypassPermissionsMode: 'disable' } }
    await mkdir(join(home, '.claude'), { recursive: true })
    await writeFile(join(home, '.claude', 'settings.json'), JSON.stringify(settings))
    return {
      command,
      args: [program],
      name: 'claude',
      env: {
        HOME: home,
        ANTHROPIC_BASE_URL: origin,
        ANTHROPIC_API_KEY: 'scripted-key',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        // By default it tries a refused key for three minutes.
        CLAUDE_CODE_MAX_RETRIES: '1',
        CLAUDE_CONFIG_DIR: join(home, '.claude'),
      },
      onMessage,
      protocol,
    }
  })
}

/** A live codex-acp that plays a scene against the scripted model. */
export async function launchCodex(
  scene: string,
  onMessage?: OnMessage,
  version?: string,
  protocol?: AcpOptions['protocol'],
): Promise<Stage> {
  const program = await agentBinary('codex-acp', version)
  return await launchWith(codexScripts, scene, async ({ home, url }) => {
    const provider = ['name = "Scripted"', `base_url = "${url}"`, 'wire_api = "responses"', 'env_key = "SCRIPTED_KEY"']
    const policy = ['approval_policy = "on-request"', 'sandbox_mode = "read-only"']
    const head = ['model = "scripted"', 'model_provider = "scripted"', ...policy]
    await mkdir(join(home, '.codex'), { recursive: true })
    // Codex 0.169.0 has its plan tool, and outside of plan mode its question tool, only with these settings.
    const tools = ['[tools.update_plan]', 'enabled = true', '[features]', 'default_mode_request_user_input = true']
    const config = [...head, ...tools, '[model_providers.scripted]', ...provider].join('\n')
    await writeFile(join(home, '.codex', 'config.toml'), config)
    return {
      command: process.execPath,
      args: [program],
      name: 'codex',
      env: { HOME: home, CODEX_HOME: join(home, '.codex'), SCRIPTED_KEY: 'scripted-key' },
      onMessage,
      protocol,
    }
  })
}

interface Place {
  readonly home: string
  /** The model's base URL without and with `/v1`. */
  readonly origin: string
  readonly url: string
}

/** A live agent in a home and a folder of its own, against a scripted model. */
export async function launchWith(
  scripts: Scripts,
  scene: string,
  optionsFor: (place: Place) => Promise<AcpOptions>,
): Promise<Stage> {
  const model = await startModel({ scripts, fallback: scene })
  const project = await createProject()
  const { home, root, directory } = project
  const methods: string[] = []
  const waiting = new Set<() => void>()
  const given = await optionsFor({ home, origin: model.origin, url: model.url })
  const onMessage: OnMessage = (from, json) => {
    given.onMessage?.(from, json)
    if (from === 'client') methods.push(String(JSON.parse(json).method))
    for (const look of waiting) look()
  }
  const options = { ...given, cwd: directory, onMessage }
  const client = acp(options)
  return {
    client,
    whenSent: async (method, count) => {
      const isSent = (): boolean => methods.filter((each) => each === method).length >= count
      await new Promise<void>((resolve) => {
        const look = (): void => {
          if (isSent()) resolve()
        }
        waiting.add(look)
        look()
      })
    },
    restart: () => acp(options),
    root,
    directory,
    home,
    modelPort: Number(new URL(model.url).port),
    model,
    close: async () => {
      await client.close()
      await model.close()
      await project.remove()
    },
  }
}
