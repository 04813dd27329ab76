import '../view/styles.ts'
import { render } from 'preact'
import '../base.css'
import '../view/view.css'
import { texts } from '../texts.ts'
import { ConnectedRun } from '../wire/connected-run.tsx'
import { Notice } from '../wire/notice.tsx'

/** The run is named by the path. The token is in the fragment, which browsers send to no server. */
const id = decodeURIComponent(location.pathname.split('/').at(-1) ?? '')
const token = location.hash.slice(1)

const root = document.getElementById('app')
if (root)
  render(<main>{token === '' ? <Notice text={texts.noToken} /> : <ConnectedRun id={id} token={token} />}</main>, root)

// Another link to the same run has another token.
addEventListener('hashchange', () => location.reload())
