import '../view/styles.ts'
import { render } from 'preact'
import '../base.css'
import '../view/view.css'

const root = document.getElementById('app')
if (root) render(<main />, root)
