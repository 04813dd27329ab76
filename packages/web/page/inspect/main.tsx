import { render } from 'preact'

const root = document.getElementById('app')
if (root) render(<p>…</p>, root)
