import type { Client } from '@reply/core'
import { freshToken, type LocalPages, serveLocally, tokenCheck } from '../serve/local.ts'
import { createPages } from '../serve/pages.ts'
import type { PageGrant, PageJudge, PagePerson } from '../serve/source.ts'
import { createDesk, type DeskOptions } from './desk.ts'

/** How a desk is served. */
export interface ServeDeskOptions extends DeskOptions {
  /** Default: a free one. */
  readonly port?: number | undefined
  /** The name that is shown for answers. Default: none. */
  readonly who?: string | undefined
}

/** Serves the runs of a server in the browser, on this computer alone. Rejects if the port can't be used. */
export async function serveDesk(client: Client, options: ServeDeskOptions = {}): Promise<LocalPages> {
  const { port = 0, who = '', onError, clock } = options
  const token = freshToken()
  let closeDesk = (): void => {}
  const { url, close } = await serveLocally(port, (publicUrl) => {
    const desk = createDesk(client, options)
    const judge = judgeOf(token, { id: 'desk', name: who })
    const pages = createPages({ source: desk.source, judge, publicUrl, onError, clock })
    closeDesk = () => {
      pages.close()
      desk.close()
    }
    return pages.handle
  })
  return {
    url: `${url}/desk/#${token}`,
    close: async () => {
      closeDesk()
      await close()
    },
  }
}

/** Lets this one token do everything. */
function judgeOf(token: string, person: PagePerson): PageJudge {
  const isToken = tokenCheck(token)
  const grant: PageGrant = { person, rights: { answer: true, stop: true } }
  return (given) => (isToken(given) ? grant : undefined)
}
