<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>ActionsPanel</name>
    <message>
        <location filename="../../kmonitor/ui/actions/qt/action_panel_view.py"/>
        <source>ACTIONS</source>
        <translation>操作</translation>
    </message>
</context>
<context>
    <name>AlertController</name>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alert_controller.py"/>
        <source>This is a test alert; nothing is wrong.</source>
        <translation>这是一次测试：什么也没有发生。</translation>
    </message>
</context>
<context>
    <name>AlertsDialog</name>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>After</source>
        <translation>持续多久之后</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>Alerts</source>
        <translation>提醒</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>At most every</source>
        <translation>最短间隔</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>Enter a command or a webhook first.</source>
        <translation>请先填写命令或 webhook。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>Notify when</source>
        <translation>何时提醒我</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>Rules</source>
        <translation>规则</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>Send a sample alert to the command and the webhook</source>
        <translation>向命令和 webhook 发送一条虚构的提醒</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>Send a test</source>
        <translation>发送测试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>Sent. Any errors will appear here.</source>
        <translation>已发送。若失败会在此说明。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>Webhook</source>
        <translation>Webhook</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>every time</source>
        <translation>每次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>https://… URL for Slack, Mattermost, ntfy or any other service that accepts JSON; leave empty for none</source>
        <translation>https://… Slack、Mattermost、ntfy 或接收 JSON 的地址；留空则不发送</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>immediately</source>
        <translation>立即</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>min</source>
        <translation>min</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>runs for each alert, with JSON on standard input; leave empty for none</source>
        <translation>每次提醒时在本机运行，标准输入为 JSON；留空则不运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>s</source>
        <translation>s</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>{rule}: after</source>
        <translation>{rule}：持续多久之后</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alerts_dialog.py"/>
        <source>{rule}: at most every</source>
        <translation>{rule}：最短间隔</translation>
    </message>
</context>
<context>
    <name>AppearanceController</name>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_controller.py"/>
        <source>Later</source>
        <translation>以后再说</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_controller.py"/>
        <source>Restart</source>
        <translation>重新打开</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_controller.py"/>
        <source>The language will change when the window is restarted.</source>
        <translation>重新打开窗口后语言才会改变。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_controller.py"/>
        <source>This takes a second and does not affect any run. Restart the window now?</source>
        <translation>只需一秒，任何运行都不受影响。现在重新打开吗？</translation>
    </message>
</context>
<context>
    <name>ArrangementController</name>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/arrangement_controller.py"/>
        <source>Add a chart</source>
        <translation>添加图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/arrangement_controller.py"/>
        <source>Logarithmic axis</source>
        <translation>对数坐标轴</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/arrangement_controller.py"/>
        <source>Move left</source>
        <translation>左移</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/arrangement_controller.py"/>
        <source>Move right</source>
        <translation>右移</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/arrangement_controller.py"/>
        <source>Remove this chart</source>
        <translation>移除此图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/arrangement_controller.py"/>
        <source>Restore default charts</source>
        <translation>默认的四个图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/arrangement_controller.py"/>
        <source>Smoothing</source>
        <translation>平滑</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/arrangement_controller.py"/>
        <source>Values within epochs</source>
        <translation>轮次内的数值</translation>
    </message>
</context>
<context>
    <name>AuditController</name>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/audit_window.py"/>
        <source>this machine</source>
        <translation>本机</translation>
    </message>
</context>
<context>
    <name>AuditWindow</name>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/audit_window.py"/>
        <source>Audit log</source>
        <translation>审计</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/audit_window.py"/>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/audit_window.py"/>
        <source>Close this list (Esc)</source>
        <translation>关闭此列表 (Esc)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/audit_window.py"/>
        <source>Commands, edits and access changes, with their results. Newest first.</source>
        <translation>谁发出了命令、修改或授权，以及结果如何。最新的在前。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/audit_window.py"/>
        <source>Host</source>
        <translation>主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/audit_window.py"/>
        <source>all</source>
        <translation>全部</translation>
    </message>
</context>
<context>
    <name>Banner</name>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/connection_views.py"/>
        <source>Close this message</source>
        <translation>关闭此消息</translation>
    </message>
</context>
<context>
    <name>BatchCurveView</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Peak by batch size</source>
        <translation>峰值与批大小</translation>
    </message>
</context>
<context>
    <name>ChartCard</name>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>Add a limit line just above the highest value; drag it from there</source>
        <translation>在最高值稍上方放一条上限线，再从那里拖动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>Applies to the median over an epoch, so a few slow steps do not affect it</source>
        <translation>它针对一轮的中位数：少数慢步不会使它变动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>Choose what happens when this limit is exceeded</source>
        <translation>选择达到此上限时的处理</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>Limit, position and appearance of this chart; drag its title to move it</source>
        <translation>此图表的上限、位置和外观；按住文字可拖动图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>Remove the limit</source>
        <translation>移除上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>Save as {kind}…</source>
        <translation>另存为 {kind}…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>Set a limit</source>
        <translation>设置上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>Set a limit on {metric}</source>
        <translation>为{metric}设置上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>Show full range</source>
        <translation>显示完整范围</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/qt/chart_card.py"/>
        <source>{metric} menu</source>
        <translation>{metric}的更多操作</translation>
    </message>
</context>
<context>
    <name>CompareLegend</name>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Remove {name}</source>
        <translation>去掉 {name}</translation>
    </message>
</context>
<context>
    <name>ComparePanel</name>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Back to the history (Esc)</source>
        <translation>返回历史 (Esc)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Copy the selected rows, or all rows, as text (Ctrl+C)</source>
        <translation>将所选行（或全部）复制为文本 (Ctrl+C)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Copy the table</source>
        <translation>复制表格</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Differences</source>
        <translation>差异</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Differences only</source>
        <translation>仅显示差异</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Epochs</source>
        <translation>轮次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Epochs, counted across all fits</source>
        <translation>所有 fit 的轮次依次排列</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Hide rows that are the same for all runs</source>
        <translation>略去全部相同的项</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>History</source>
        <translation>历史</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Horizontal axis</source>
        <translation>横轴</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Metric</source>
        <translation>指标</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Models built, one per fit of a run</source>
        <translation>已构建的模型：一个运行的各次 fit 依次排列</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/qt/compare_view.py"/>
        <source>Time since each run started</source>
        <translation>运行时间，从各运行的起点算起</translation>
    </message>
</context>
<context>
    <name>ConnectDialog</name>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>/path/to/bin/kmonitor on the host (optional)</source>
        <translation>对方机器上的 /path/to/bin/kmonitor；可留空</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Connect</source>
        <translation>连接</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Connect to a host</source>
        <translation>连接主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Connects with your ssh client and its configuration: any host that ssh can reach without a prompt works here. kmonitor must be installed there; no port is opened. For a hub that listens on the network, enter its address with the key: tcp://gpu-01:5577?key=…</source>
        <translation>使用您的 ssh 客户端及其配置连接：凡是无需提问即可 “ssh gpu-01” 的，这里也可用。对方须已安装 kmonitor；不会打开端口。监听网络的 hub 用密钥访问：tcp://gpu-01:5577?key=…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Host</source>
        <translation>主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>gpu-01, user@gpu-01 or tcp://…</source>
        <translation>gpu-01、user@gpu-01 或 tcp://…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>name in this window (optional)</source>
        <translation>在这里的叫法；可留空</translation>
    </message>
</context>
<context>
    <name>CrashController</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_controller.py"/>
        <source>Not saved: {why}.</source>
        <translation>未保存：{why}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_controller.py"/>
        <source>Save the report</source>
        <translation>保存报告</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_controller.py"/>
        <source>Saved as {file}.</source>
        <translation>已保存为 {file}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_controller.py"/>
        <source>Text</source>
        <translation>文本</translation>
    </message>
</context>
<context>
    <name>CrashNoticeBar</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Discard</source>
        <translation>丢弃</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Later</source>
        <translation>以后再说</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Read, copy or save the report</source>
        <translation>阅读、复制或保存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Remind me the next time kmonitor starts</source>
        <translation>下次启动时再问</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Remove the report</source>
        <translation>删除已留存的报告</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Show report…</source>
        <translation>查看报告…</translation>
    </message>
</context>
<context>
    <name>CrashReportWindow</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Close this window (Esc)</source>
        <translation>关闭此窗口 (Esc)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Copied.</source>
        <translation>已复制。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Copy everything as text</source>
        <translation>将全部内容复制为文本</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Crash report</source>
        <translation>崩溃报告</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Discard</source>
        <translation>丢弃</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Remove the report</source>
        <translation>删除已留存的报告</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Save…</source>
        <translation>保存…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/crash_views.py"/>
        <source>Write it to a file</source>
        <translation>写入文件</translation>
    </message>
</context>
<context>
    <name>CrosshairLayer</name>
    <message>
        <location filename="../../kmonitor/ui/plots/qt/crosshair.py"/>
        <source>and {n} more</source>
        <translation>另有 {n} 个</translation>
    </message>
</context>
<context>
    <name>DemoLauncher</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/launcher.py"/>
        <source> and </source>
        <translation> 和 </translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/launcher.py"/>
        <source>The demo could not be started: {program} cannot be run</source>
        <translation>无法启动演示：{program} 无法运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/launcher.py"/>
        <source>The demo did not start. Run this in a terminal to see why: {line}</source>
        <translation>演示没有出现。在终端中运行以下命令查看原因：{line}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/launcher.py"/>
        <source>The demo needs {packages}, which are not installed. In your clone of the repository, run: python -m pip install ".[demo]"</source>
        <translation>演示需要 {packages}，而当前 Python 中没有。请在克隆的仓库中运行：python -m pip install ".[demo]"</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/launcher.py"/>
        <source>This installation does not include the demo.</source>
        <translation>此安装不含演示训练。</translation>
    </message>
</context>
<context>
    <name>DesktopNotifications</name>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alert_controller.py"/>
        <source>Alerts are shown as notifications while kmonitor is running.</source>
        <translation>kmonitor 运行期间，提醒以桌面通知显示。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alert_controller.py"/>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alert_controller.py"/>
        <source>Show kmonitor</source>
        <translation>显示 kmonitor</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/qt/alert_controller.py"/>
        <source>Your desktop has no system tray: alerts highlight kmonitor's entry in the taskbar and appear in the event log.</source>
        <translation>此桌面没有托盘：提醒会标记任务栏中的 kmonitor，并写入事件日志。</translation>
    </message>
</context>
<context>
    <name>DetailWindow</name>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Close this window (Esc)</source>
        <translation>关闭此窗口 (Esc)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Copy everything as text</source>
        <translation>将全部内容复制为文本</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Evidence</source>
        <translation>依据</translation>
    </message>
</context>
<context>
    <name>DeviceSplitPanel</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Memory on the device</source>
        <translation>设备中有什么</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>not read</source>
        <translation>未读到</translation>
    </message>
</context>
<context>
    <name>DiagnosisWindow</name>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Diagnose</source>
        <translation>诊断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Diagnosis</source>
        <translation>诊断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Next</source>
        <translation>下一个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Next diagnosis (Alt+Right)</source>
        <translation>下一次诊断 (Alt+Right)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Previous</source>
        <translation>上一个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Previous diagnosis (Alt+Left)</source>
        <translation>上一次诊断 (Alt+Left)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Run another diagnosis at the next safe point</source>
        <translation>在下一个安全点再做一次</translation>
    </message>
</context>
<context>
    <name>EventLogPanel</name>
    <message>
        <location filename="../../kmonitor/ui/events/qt/event_log_view.py"/>
        <source>Actions</source>
        <translation>操作</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/event_log_view.py"/>
        <source>All</source>
        <translation>全部</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/event_log_view.py"/>
        <source>Events</source>
        <translation>事件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/event_log_view.py"/>
        <source>Events shown</source>
        <translation>显示的事件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/event_log_view.py"/>
        <source>Warnings</source>
        <translation>警告</translation>
    </message>
</context>
<context>
    <name>ExportController</name>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>Another file is still being written.</source>
        <translation>另一个文件仍在写入。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>CSV</source>
        <translation>CSV</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>Chart image of {run}</source>
        <translation>{run} 的图表图片</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>Export all {n} runs on the charts</source>
        <translation>导出所绘制的全部 {n} 个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>Export the visible range of {run}</source>
        <translation>导出 {run} 的显示部分</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>Export {run}</source>
        <translation>导出 {run}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>HTML</source>
        <translation>HTML</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>JSON</source>
        <translation>JSON</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>Parquet</source>
        <translation>Parquet</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>Report on {run}</source>
        <translation>{run} 的报告</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>Saved: {file}</source>
        <translation>已写入：{file}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/qt/export_controller.py"/>
        <source>Try again in a moment.</source>
        <translation>请稍后再试。</translation>
    </message>
</context>
<context>
    <name>FirstChoices</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>All keyboard shortcuts (?)</source>
        <translation>所有按键 (?)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Getting started and more (F1)</source>
        <translation>入门步骤及更多内容 (F1)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Guide</source>
        <translation>指南</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Keyboard</source>
        <translation>键盘</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>System</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
</context>
<context>
    <name>FirstStartPanel</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>A real training run that takes about a minute, in its own process</source>
        <translation>一次约一分钟的真实训练，在独立进程中运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Connect to a host…</source>
        <translation>连接主机…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Copy both lines to the clipboard</source>
        <translation>将两行复制到剪贴板</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Copy the two lines</source>
        <translation>复制这两行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Lines to add to your training script</source>
        <translation>加入训练脚本的代码行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>Show the runs on another machine, over ssh (Ctrl+H)</source>
        <translation>通过 ssh 查看另一台机器的运行 (Ctrl+H)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/first_start_view.py"/>
        <source>The first line imports the callback, and the second passes it to fit. It works with Keras 3 and tf_keras; your data stays on this machine.</source>
        <translation>第一行导入回调，第二行把它交给 fit。适用于 Keras 3 和 tf_keras；测得的数据只留在本机。</translation>
    </message>
</context>
<context>
    <name>FoldGrid</name>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/fold_grid.py"/>
        <source>Folds</source>
        <translation>各折</translation>
    </message>
</context>
<context>
    <name>FoldMemoryChart</name>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/fold_charts_view.py"/>
        <source>Peak memory of each fold</source>
        <translation>各折的内存峰值</translation>
    </message>
</context>
<context>
    <name>FoldMetricChart</name>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/fold_charts_view.py"/>
        <source>Metric of all folds over epochs</source>
        <translation>各折指标随轮的变化</translation>
    </message>
</context>
<context>
    <name>FolderButton</name>
    <message>
        <location filename="../../kmonitor/ui/widgets/buttons.py"/>
        <source>Open folder…</source>
        <translation>打开文件夹…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/widgets/buttons.py"/>
        <source>Show the runs in a folder (Ctrl+O)</source>
        <translation>查看训练写入某个文件夹的数据 (Ctrl+O)</translation>
    </message>
</context>
<context>
    <name>FolderOpener</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/launcher.py"/>
        <source>A second window could not be opened.</source>
        <translation>无法启动第二个窗口。</translation>
    </message>
</context>
<context>
    <name>GeneralPage</name>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>1 GiB is 1,073,741,824 bytes, and 1 GB is 1,000,000,000. Applies to the window; the command line and the training callback always use MiB and GiB.</source>
        <translation>1 GiB 是 1 073 741 824 字节，1 GB 是 1 000 000 000 字节。窗口中处处如此；命令行和训练的输出仍用 MiB 和 GiB。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Alerts and limits</source>
        <translation>提醒与上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Alerts…</source>
        <translation>提醒…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Chart updates</source>
        <translation>图表刷新</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Choose which events you are notified about. What happens when a limit is exceeded is set per run, beside the charts, and carries over to the next run.</source>
        <translation>哪些事值得通知。达到上限时做什么在图表旁按运行选择，下一个运行沿用，直到更改为止。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Configure alerts (Ctrl+L)</source>
        <translation>要提醒什么、怎样提醒 (Ctrl+L)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>MB, GB</source>
        <translation>MB、GB</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>MiB, GiB</source>
        <translation>MiB、GiB</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>System</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Units</source>
        <translation>大小单位</translation>
    </message>
</context>
<context>
    <name>GuideWindow</name>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>Back</source>
        <translation>返回</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>Contents</source>
        <translation>目录</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>Find in the guide</source>
        <translation>在指南中查找</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>Find in the guide   Ctrl+F</source>
        <translation>在指南中查找   Ctrl+F</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>First page of the guide</source>
        <translation>指南首页</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>Guide</source>
        <translation>指南</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>No matches</source>
        <translation>指南中没有</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>Previous page (Alt+Left)</source>
        <translation>上一页 (Alt+Left)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>Search all pages; Enter or F3 finds the next match (Ctrl+F)</source>
        <translation>任意页面中的词；Enter 或 F3：下一处 (Ctrl+F)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>This page of the guide is missing.</source>
        <translation>指南中缺少此页。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>kmonitor guide</source>
        <translation>kmonitor 指南</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/guide_window.py"/>
        <source>{n} of {total}</source>
        <translation>{n}/{total}</translation>
    </message>
</context>
<context>
    <name>HeaderPanel</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Add a chart</source>
        <translation>添加图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Add a chart (Ctrl+N)</source>
        <translation>添加图表 (Ctrl+N)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Alerts…</source>
        <translation>提醒…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>All runs on the charts in one file (Ctrl+Alt+E)</source>
        <translation>图表所绘制的所有运行，存为一个文件 (Ctrl+Alt+E)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Audit log of the hub (Ctrl+U)</source>
        <translation>谁通过 hub 做了什么 (Ctrl+U)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Audit log…</source>
        <translation>审计…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Charts follow the newest data. Click to freeze the view (Space)</source>
        <translation>图表跟随最新数据。按下可定格视图 (Space)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Configure alerts (Ctrl+L)</source>
        <translation>您想收到哪些提醒 (Ctrl+L)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Epochs</source>
        <translation>轮次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Export all runs…</source>
        <translation>导出全部所绘…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Export…</source>
        <translation>导出…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Frozen</source>
        <translation>定格</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Guide</source>
        <translation>指南</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Guide (F1)</source>
        <translation>指南 (F1)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Horizontal axis</source>
        <translation>横轴</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Horizontal axis: epochs, counted across all fits</source>
        <translation>按所有 fit 的轮次依次计数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Horizontal axis: run time in seconds</source>
        <translation>按运行秒数计数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Live</source>
        <translation>实时</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Memory map</source>
        <translation>内存地图</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Memory map and contents of a model file (Ctrl+Shift+O)</source>
        <translation>训练它需要多少内存，文件里有什么（Ctrl+Shift+O）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Memory of the selected run by layer (Ctrl+M)</source>
        <translation>所选运行的内存按层的去向（Ctrl+M）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Open model file…</source>
        <translation>打开模型文件…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Report…</source>
        <translation>报告…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Seconds</source>
        <translation>秒</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Settings…</source>
        <translation>设置…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>System</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>The selected run as a single HTML file (Ctrl+Shift+E)</source>
        <translation>所选运行的报告，一个 HTML 文件 (Ctrl+Shift+E)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>The selected run's data as CSV, JSON or Parquet (Ctrl+E)</source>
        <translation>所选运行的数据，格式为 CSV、JSON 或 Parquet (Ctrl+E)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>The view is frozen; data is still arriving. Click to follow again (Space)</source>
        <translation>视图已定格，数据仍在到达。按下可继续跟随 (Space)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Theme and language</source>
        <translation>主题与语言</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Theme and language; settings, alerts, export, report and audit</source>
        <translation>主题、语言；设置、提醒、导出、报告、审计</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/header_view.py"/>
        <source>Theme, language, units, history, hosts and keys (Ctrl+,)</source>
        <translation>主题、语言、大小单位、历史、主机、密钥 (Ctrl+,)</translation>
    </message>
</context>
<context>
    <name>HistoryController</name>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>History · 1 run</source>
        <translation>历史 · 1 个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>History · {n} runs</source>
        <translation>历史 · {n} 个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Name of the run</source>
        <translation>运行名称</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Name of the run (shown to everyone):</source>
        <translation>此运行的名称（所有查看者都会看到）：</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Rename run</source>
        <translation>重命名运行</translation>
    </message>
</context>
<context>
    <name>HistoryFilters</name>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>Clear filters</source>
        <translation>清除筛选</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>Host</source>
        <translation>主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>Only pinned runs</source>
        <translation>仅显示已固定的运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>Pinned</source>
        <translation>已固定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>Show all runs again</source>
        <translation>重新显示所有运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>Sort</source>
        <translation>排序</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>Started</source>
        <translation>开始时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>State</source>
        <translation>状态</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>Verdict</source>
        <translation>判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>active</source>
        <translation>进行中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>all</source>
        <translation>全部</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>any</source>
        <translation>任意</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>any time</source>
        <translation>任意时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>failed, lost or interrupted</source>
        <translation>失败、失联、中断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>finished or stopped</source>
        <translation>已完成或已停止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>growing</source>
        <translation>增长中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>last 12 months</source>
        <translation>最近 12 个月</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>last 24 hours</source>
        <translation>最近 24 小时</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>last 30 days</source>
        <translation>最近 30 天</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>last 7 days</source>
        <translation>最近 7 天</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>leak suspected</source>
        <translation>疑似泄漏</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>more than 30 days ago</source>
        <translation>30 天以前</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>nothing growing</source>
        <translation>无增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_filters.py"/>
        <source>slowing down</source>
        <translation>变慢</translation>
    </message>
</context>
<context>
    <name>HistoryPage</name>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Days</source>
        <translation>天数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Days of history</source>
        <translation>历史保留天数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>For example, 20 GiB; leave empty for no limit</source>
        <translation>例如 20 GiB；留空：不限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Number of days; leave empty to keep all runs</source>
        <translation>天数；留空：全部保留</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Pinned and live runs are always kept, and so are checkpoints. Changes take effect within seconds on this machine's hub.</source>
        <translation>已固定和正在进行的运行始终保留，检查点也是。无论由谁启动，本机的 hub 都会在几秒内采用。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Runs that ended more than this many days ago are removed.</source>
        <translation>结束得更早的运行会被移除。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Size of the history</source>
        <translation>历史的大小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>While the history is larger than this, runs are removed, oldest first.</source>
        <translation>历史超过这个大小时，移除最早结束的运行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>all</source>
        <translation>全部</translation>
    </message>
</context>
<context>
    <name>HostMenus</name>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>&amp;Retry now</source>
        <translation>立即重试(&amp;R)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Name of the host</source>
        <translation>主机名称</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Name of {address} in this window:</source>
        <translation>{address} 在这里的名称：</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Re&amp;move…</source>
        <translation>移除(&amp;M)…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Re&amp;name…</source>
        <translation>重命名(&amp;N)…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/qt/host_menus.py"/>
        <source>Rename host</source>
        <translation>重命名主机</translation>
    </message>
</context>
<context>
    <name>HostsPage</name>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Connect</source>
        <translation>连接</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Connect now</source>
        <translation>立即尝试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Connect to a host…</source>
        <translation>连接到主机…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>No other machines are saved. Any host that you can reach with ssh NAME works here.</source>
        <translation>没有记住其他机器。能用 ssh NAME 登录的，在这里也能用。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Remove this host; nothing changes on the host itself</source>
        <translation>移除此主机；主机上的一切都不受影响</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Remove…</source>
        <translation>移除…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Rename it in this window</source>
        <translation>在这里换个名称</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Rename…</source>
        <translation>重命名…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Show the runs on another machine, over ssh (Ctrl+H)</source>
        <translation>通过 ssh 查看另一台机器的运行 (Ctrl+H)</translation>
    </message>
</context>
<context>
    <name>Icicle</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/icicle.py"/>
        <source>Memory by layer</source>
        <translation>按层的内存</translation>
    </message>
</context>
<context>
    <name>KeyboardWindow</name>
    <message>
        <location filename="../../kmonitor/ui/guide/qt/help_controller.py"/>
        <source>Keyboard</source>
        <translation>键盘</translation>
    </message>
</context>
<context>
    <name>KeysPage</name>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Authorized keys</source>
        <translation>谁可以连接到本机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Copy the key to the clipboard</source>
        <translation>把密钥复制到剪贴板</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Creates the key if there is none; the private key stays here</source>
        <translation>没有时会生成；私钥留在本机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Give this public key to the owner of a hub on the network, who authorizes it with kmonitor authorize. The private key never leaves this machine.</source>
        <translation>把这个公钥交给在网络上运行 hub 的人，由其用 kmonitor authorize 准入。私钥从不离开本机。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Revoke its access</source>
        <translation>不再允许它连接</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Revoke {name}</source>
        <translation>撤销 {name}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Revoke…</source>
        <translation>撤销…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Show this machine's key</source>
        <translation>显示本机的密钥</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>This machine</source>
        <translation>本机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>This machine's key</source>
        <translation>本机的密钥</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_pages.py"/>
        <source>Where the hub listens</source>
        <translation>hub 监听的地址</translation>
    </message>
</context>
<context>
    <name>KmonitorApp</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/app.py"/>
        <source>{folder} - kmonitor</source>
        <translation>{folder} - kmonitor</translation>
    </message>
</context>
<context>
    <name>LimitActionsPanel</name>
    <message>
        <location filename="../../kmonitor/ui/limits/qt/limit_actions_view.py"/>
        <source>Action when a limit is exceeded</source>
        <translation>达到上限时的处理</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/qt/limit_actions_view.py"/>
        <source>Change</source>
        <translation>更改</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/qt/limit_actions_view.py"/>
        <source>Choose what happens when a limit is exceeded</source>
        <translation>选择达到上限时的处理</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/qt/limit_actions_view.py"/>
        <source>LIMIT ACTION</source>
        <translation>达到上限时</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/qt/limit_actions_view.py"/>
        <source>Reload automatically</source>
        <translation>自动重新加载</translation>
    </message>
</context>
<context>
    <name>LimitDragControl</name>
    <message>
        <location filename="../../kmonitor/ui/plots/qt/limit_handle.py"/>
        <source>Drag to move the limit, or use the Up and Down keys and Enter</source>
        <translation>拖动以移动上限，或使用上、下方向键和 Enter</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/plots/qt/limit_handle.py"/>
        <source>limit {value}</source>
        <translation>上限 {value}</translation>
    </message>
</context>
<context>
    <name>LoadCostPanel</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Cost of loading</source>
        <translation>加载的代价</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Finished processes</source>
        <translation>已结束的进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Load the file with each method, in separate processes</source>
        <translation>用每种方式在各自的进程中加载文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Measure</source>
        <translation>测量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Processes per method</source>
        <translation>每种方式的进程数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Stop the current process and do not start any more</source>
        <translation>结束正在运行的进程，不再启动新的</translation>
    </message>
</context>
<context>
    <name>MapModel</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Activations</source>
        <translation>激活值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Activations still needed for the backward pass</source>
        <translation>反向传播仍需要的激活值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Everything else at the peak</source>
        <translation>那一刻的其他所有部分</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Gradients</source>
        <translation>梯度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Gradients of trainable weights that exist at the peak</source>
        <translation>参与训练的权重的梯度，仅计那一刻存在的部分</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Layer</source>
        <translation>层</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Note</source>
        <translation>说明</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Optimizer state for the weights; exact</source>
        <translation>权重的优化器状态；精确值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Parameters and states; exact</source>
        <translation>参数和状态；精确值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Share of the peak; all rows add up to the peak</source>
        <translation>它在峰值中所占的部分；所有行合计即为峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Total</source>
        <translation>合计</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Type</source>
        <translation>类型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Workspace</source>
        <translation>工作区</translation>
    </message>
</context>
<context>
    <name>MapTotals</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Memory at the peak</source>
        <translation>峰值时的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Peak of a training step</source>
        <translation>一个训练步的峰值</translation>
    </message>
</context>
<context>
    <name>MemoryMapPanel</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>A JSON file from to_json</source>
        <translation>由 to_json 写出的 JSON 文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>A Python file with the model's classes, which runs in a separate process</source>
        <translation>含有其类的 Python 文件；在另一个进程中运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Architecture…</source>
        <translation>架构…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Back to the charts (Esc)</source>
        <translation>返回图表（Esc）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Charts</source>
        <translation>图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Contents of the file, and the cost of each loading method</source>
        <translation>文件里有什么，以及每种加载方式的代价</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Copy the table</source>
        <translation>复制表格</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Copy the table as text (Ctrl+C)</source>
        <translation>将表格复制为文本（Ctrl+C）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Custom classes…</source>
        <translation>自定义类…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>File and load cost…</source>
        <translation>文件与加载代价…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Layers</source>
        <translation>层</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Memory map of a .keras, .h5 or .json file (Ctrl+Shift+O)</source>
        <translation>.keras、.h5 或 .json 文件的内存地图（Ctrl+Shift+O）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>Open model file…</source>
        <translation>打开模型文件…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/memory_map_view.py"/>
        <source>View</source>
        <translation>视图</translation>
    </message>
</context>
<context>
    <name>ModelFileWindow</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Contents of the file</source>
        <translation>文件里有什么</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>In the file</source>
        <translation>文件中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Layer</source>
        <translation>层</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Layers in the file</source>
        <translation>文件中的层</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Shapes</source>
        <translation>形状</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>Type</source>
        <translation>类型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_window.py"/>
        <source>{file}: load cost and contents</source>
        <translation>{file}：加载代价与内容</translation>
    </message>
</context>
<context>
    <name>NoteDialog</name>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Discard the changes (Esc)</source>
        <translation>保持原样 (Esc)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Note</source>
        <translation>备注</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Note on {name}</source>
        <translation>{name} 的备注</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Purpose or result of the run</source>
        <translation>用途是什么，或结果如何</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>Save the note (Ctrl+Return)</source>
        <translation>保存备注 (Ctrl+Return)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_controller.py"/>
        <source>{n} of {most} characters</source>
        <translation>{n} / 最多 {most} 个字</translation>
    </message>
</context>
<context>
    <name>PanelSizes</name>
    <message>
        <location filename="../../kmonitor/ui/widgets/panel_sizes.py"/>
        <source>Drag to change the height of the events panel; double-click to reset it</source>
        <translation>事件区的高度：拖动；双击恢复通常高度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/widgets/panel_sizes.py"/>
        <source>Drag to change the width of the actions panel; double-click to reset it</source>
        <translation>操作区的宽度：拖动；双击恢复通常宽度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/widgets/panel_sizes.py"/>
        <source>Drag to change the width of the run list; double-click to reset it</source>
        <translation>运行列表的宽度：拖动；双击恢复通常宽度</translation>
    </message>
</context>
<context>
    <name>ReclaimTablePanel</name>
    <message>
        <location filename="../../kmonitor/ui/events/qt/reclaims_view.py"/>
        <source>Enter shows the full record, and Ctrl+C copies the selected records</source>
        <translation>Enter 显示完整记录，Ctrl+C 复制所选记录</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/reclaims_view.py"/>
        <source>Reclaims</source>
        <translation>回收</translation>
    </message>
</context>
<context>
    <name>RecordWindow</name>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Reclaim</source>
        <translation>回收</translation>
    </message>
</context>
<context>
    <name>RecordsPanel</name>
    <message>
        <location filename="../../kmonitor/ui/events/qt/records_view.py"/>
        <source>All events (Ctrl+1)</source>
        <translation>每个事件一句话 (Ctrl+1)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/records_view.py"/>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/records_view.py"/>
        <source>Copy the selected rows, or all rows, as text (Ctrl+C in the table)</source>
        <translation>将所选行（或全部）复制为文本（在表格中按 Ctrl+C）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/records_view.py"/>
        <source>Copy the table</source>
        <translation>复制表格</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/records_view.py"/>
        <source>Events</source>
        <translation>事件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/records_view.py"/>
        <source>Events and reclaims</source>
        <translation>事件与回收</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/records_view.py"/>
        <source>Memory freed by each save, collect, reload and restart (Ctrl+2)</source>
        <translation>每次保存、清理、重新加载和重启释放了什么 (Ctrl+2)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/records_view.py"/>
        <source>Reclaims</source>
        <translation>回收</translation>
    </message>
</context>
<context>
    <name>RunEndWindow</name>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>End of run</source>
        <translation>运行的结束</translation>
    </message>
</context>
<context>
    <name>RunHistoryPanel</name>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_view.py"/>
        <source>All runs</source>
        <translation>所有运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_view.py"/>
        <source>Back to the charts (Esc)</source>
        <translation>返回图表 (Esc)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_view.py"/>
        <source>Charts</source>
        <translation>图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_view.py"/>
        <source>Enter shows a run on the charts, F2 renames it, and Delete removes it</source>
        <translation>Enter 在图表中打开运行，F2 重命名，Delete 删除</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_view.py"/>
        <source>Find runs</source>
        <translation>查找运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_view.py"/>
        <source>History</source>
        <translation>历史</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_view.py"/>
        <source>Name, host, model, note or date   Ctrl+F</source>
        <translation>名称、主机、模型、备注或日期   Ctrl+F</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/qt/history_view.py"/>
        <source>Search by name, host, model, note, job, ID or a date such as 2026-11-22 (Ctrl+F)</source>
        <translation>名称、主机、模型、备注、作业或 ID 中的词，或日期如 2026-11-22 (Ctrl+F)</translation>
    </message>
</context>
<context>
    <name>RunTreePanel</name>
    <message>
        <location filename="../../kmonitor/ui/run_tree/qt/run_tree_view.py"/>
        <source>All recorded runs: find, rename, annotate and remove them (Ctrl+Shift+H)</source>
        <translation>所有记录过的运行：查找、命名、备注和移除 (Ctrl+Shift+H)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/qt/run_tree_view.py"/>
        <source>Connect to a host…</source>
        <translation>连接主机…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/qt/run_tree_view.py"/>
        <source>Find run or host</source>
        <translation>查找运行或主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/qt/run_tree_view.py"/>
        <source>Runs by host</source>
        <translation>按主机列出的运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/qt/run_tree_view.py"/>
        <source>Search runs and hosts by name (Ctrl+F); Enter selects the first match</source>
        <translation>运行名称或主机中的词 (Ctrl+F)；Enter 转到第一个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/qt/run_tree_view.py"/>
        <source>Show the runs on another machine, over ssh (Ctrl+H)</source>
        <translation>通过 ssh 查看另一台机器的运行 (Ctrl+H)</translation>
    </message>
</context>
<context>
    <name>SettingsController</name>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_controller.py"/>
        <source>The settings could not be saved: {why}.</source>
        <translation>无法写入：{why}。</translation>
    </message>
</context>
<context>
    <name>SettingsWindow</name>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_window.py"/>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_window.py"/>
        <source>Close (Esc); changes are already applied</source>
        <translation>关闭设置 (Esc)；更改已经生效</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_window.py"/>
        <source>General</source>
        <translation>常规</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_window.py"/>
        <source>Guide</source>
        <translation>指南</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_window.py"/>
        <source>Help with these settings (F1)</source>
        <translation>每项设置的含义 (F1)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_window.py"/>
        <source>History</source>
        <translation>历史</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_window.py"/>
        <source>Hosts</source>
        <translation>主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_window.py"/>
        <source>Keys</source>
        <translation>密钥</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/qt/settings_window.py"/>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
</context>
<context>
    <name>StudyModel</name>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Attempt</source>
        <translation>尝试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Counted from 0, as in the script</source>
        <translation>从 0 起，与脚本中相同</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Counted from 1; “resumed” means that the attempt continued where the previous one was killed</source>
        <translation>从 1 起；续：从前一次尝试被终止处继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Fold</source>
        <translation>折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Growth</source>
        <translation>增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Memory growth of its processes from start to end</source>
        <translation>其进程所占内存从开始到结束的增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Peak memory of all its processes together</source>
        <translation>其所有进程合计占用的最大值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Peak of the framework's allocator on its GPU</source>
        <translation>框架分配器在其 GPU 上占用的最大值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>RAM peak</source>
        <translation>内存峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Reason</source>
        <translation>原因</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Run time; for a running attempt, also the estimated total</source>
        <translation>运行了多久；正在运行的，旁边是总时间的估计</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>State</source>
        <translation>状态</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Steps</source>
        <translation>步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>VRAM peak</source>
        <translation>显存峰值</translation>
    </message>
</context>
<context>
    <name>StudyPanel</name>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>About studies</source>
        <translation>关于研究</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Attempts</source>
        <translation>尝试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Copy the table</source>
        <translation>复制表格</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Copy the table as text (Ctrl+C)</source>
        <translation>将表格复制为文本 (Ctrl+C)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Help on run_folds, its limits and terms (F1)</source>
        <translation>run_folds 做什么，其上限和用词 (F1)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>Metric</source>
        <translation>指标</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/qt/study_view.py"/>
        <source>VRAM</source>
        <translation>显存</translation>
    </message>
</context>
<context>
    <name>VerdictWindow</name>
    <message>
        <location filename="../../kmonitor/ui/verdicts/qt/verdict_window.py"/>
        <source>Guide: memory when training models in a loop, run_folds and collect</source>
        <translation>循环训练模型对内存的影响；指南中的 run_folds 和 collect</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/qt/verdict_window.py"/>
        <source>How to train many models…</source>
        <translation>如何训练许多模型…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/qt/verdict_window.py"/>
        <source>Run this at the next safe point</source>
        <translation>请训练在下一个安全点执行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/qt/verdict_window.py"/>
        <source>Verdict</source>
        <translation>判定</translation>
    </message>
</context>
<context>
    <name>WhatIfControls</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Backend</source>
        <translation>后端</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Batch size</source>
        <translation>批大小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Examples per step</source>
        <translation>每步的样本数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Precision</source>
        <translation>精度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Reset</source>
        <translation>按训练时的设置</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Restore the original values</source>
        <translation>恢复为原来的设置</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>What if</source>
        <translation>假设</translation>
    </message>
</context>
<context>
    <name>WhatIfSidebar</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>No single known change would save even 1 MiB.</source>
        <translation>没有已知的单项改动能省下 1 MiB。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Peak by batch size</source>
        <translation>峰值与批大小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/what_if_view.py"/>
        <source>Ways to lower the peak</source>
        <translation>怎样降低峰值</translation>
    </message>
</context>
<context>
    <name>_FolderDialog</name>
    <message>
        <location filename="../../kmonitor/ui/shell/qt/launcher.py"/>
        <source>Open a folder with runs</source>
        <translation>打开含有运行的文件夹</translation>
    </message>
</context>
<context>
    <name>_MissingDialog</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_controller.py"/>
        <source>Model architecture (written by to_json)</source>
        <translation>模型的架构，由 to_json 写出</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_controller.py"/>
        <source>The Python file with the model's classes</source>
        <translation>含有该模型的类的 Python 文件</translation>
    </message>
</context>
<context>
    <name>_ModelFileDialog</name>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_controller.py"/>
        <source>All files</source>
        <translation>所有文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_controller.py"/>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/qt/model_file_controller.py"/>
        <source>Open a model file</source>
        <translation>打开模型文件</translation>
    </message>
</context>
<context>
    <name>presenters</name>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source> and {n} more</source>
        <translation>，另有 {n} 个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source> of {steps}</source>
        <translation>，每轮 {steps}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source> or </source>
        <translation> 或 </translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>"{word}" needs a shell, but the command runs without one. Use: sh -c '...', or put the command in a script.</source>
        <translation>命令不经 shell 运行，而“{word}”需要 shell。请用：sh -c '...'，或放进脚本中。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>(allocator rounding)</source>
        <translation>（分配器的取整）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>(other resident memory)</source>
        <translation>（模型以外的常驻部分）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>(outside layers)</source>
        <translation>（层以外）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>(variables of the model itself)</source>
        <translation>（模型自身的变量）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>, batch size {size}</source>
        <translation>，批大小 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>, from epoch {epoch}</source>
        <translation>，从第 {epoch} 轮起</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>, no epochs left</source>
        <translation>，没有剩余的轮次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>, {n} of them in this process</source>
        <translation>，其中本进程 {n} 轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>, {optimizer} state {size}</source>
        <translation>，{optimizer} 状态 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/formats.py"/>
        <source>1 epoch</source>
        <translation>1 轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>1 fold</source>
        <translation>1 折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/formats.py"/>
        <source>1 function</source>
        <translation>1 个函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>1 of {n} timed steps took {part}: {each}</source>
        <translation>{n} 个计时步中的 1 步占{part}：{each}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/run_history.py"/>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>1 run</source>
        <translation>1 个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/formats.py"/>
        <source>1 step</source>
        <translation>1 步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>1 trace</source>
        <translation>1 个追踪</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>1 trace held by `{name}` (a tf.function in the script)</source>
        <translation>1 个追踪被 `{name}` 持有（脚本中的 tf.function）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>1 trace in use by live models</source>
        <translation>1 个追踪由存活模型使用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>1 trial</source>
        <translation>1 次试验</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>10 updates a second for the chart under the pointer, and 4 for the others: less than half the load of Fast.</source>
        <translation>指针在窗口中时每秒 10 次，否则 4 次：开销不到前者的一半。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>2 updates a second for the chart under the pointer, and 1 for the others: about a tenth of the load of Fast, for slow machines, remote desktops and battery power.</source>
        <translation>指针在窗口中时每秒 2 次，否则 1 次：约为其十分之一，适合较慢的机器、远程桌面或电池供电。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>; no action, because the last one was too recent</source>
        <translation>；未做处理，因为刚刚处理过一次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <source>; too early to judge</source>
        <translation>；时间太早，不作判断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <source>; too few epochs to judge</source>
        <translation>；轮次太少，不作判断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <source>; within the scatter of the values</source>
        <translation>；未超出数值的波动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>A cache is full: {n} of {capacity} results in {place}, {size}</source>
        <translation>缓存已满：{place} 中有 {capacity} 个结果中的 {n} 个，{size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>A checkpoint is saved if possible, and training ends after the current epoch; fit returns as if all epochs had been completed. Training cannot be restarted from here.</source>
        <translation>训练会尽可能保存检查点，在当前轮次后结束，fit 如同完成所有轮次一样返回。无法从这里再次启动。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>A deque is full: {n} of {capacity} objects in {place}, {size}</source>
        <translation>deque 已满：{place} 中有 {capacity} 个对象中的 {n} 个，{size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>A limit, the script or a user</source>
        <translation>上限、脚本或用户</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>A reload is not possible in this process.</source>
        <translation>此进程中无法重新加载。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/crash_reports.py"/>
        <source>A report was saved on this machine. kmonitor does not send it.</source>
        <translation>报告只留存在本机，kmonitor 不会发送到任何地方。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>A save, collect or reload is running; training waits for it.</source>
        <translation>正在保存、清理或重新加载，训练在等待。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>About {size} of history in total</source>
        <translation>历史共约 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>About {size} of measurements, events, verdicts and notes will be removed from the history on {where}, for everyone. Checkpoints and all files written by the training script are kept. This cannot be undone.</source>
        <translation>约 {size} 的测量值、事件、判定和备注将从 {where} 的历史中删除，所有查看者都不再看到。检查点和训练脚本写入的所有文件保留。此操作无法撤销。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Action</source>
        <translation>操作</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Activations</source>
        <translation>激活值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Active limits: {limits}</source>
        <translation>生效的上限：{limits}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Add or remove a chart</source>
        <translation>添加或移除图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/first_start.py"/>
        <source>Add the callback to your training script on this machine. The run appears here automatically, whether you start kmonitor or your script first.</source>
        <translation>将回调加入本机的训练脚本，运行会自动出现在这里，先启动哪一个都可以。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Alerts</source>
        <translation>提醒</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Alerts are arriving faster than they can be sent; this one was dropped.</source>
        <translation>提醒来得太快，来不及送出；这一条未送出。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Allocator</source>
        <translation>分配器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Allocator, in use</source>
        <translation>分配器使用中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Allocator, peak</source>
        <translation>分配器峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Allow this run to be removed when space is needed</source>
        <translation>为腾出空间而移除旧运行时一并移除</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Already requested; waiting for a safe point.</source>
        <translation>已请求，正在等待安全点。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Also releases the variables and recreates them from the file, so that the allocator can defragment its memory. This is done only where it is safe: with one optimizer, no tf.function in your code that uses the variables, and no distribution strategy. Otherwise, the variables are kept, and the record says why. The training result is the same.</source>
        <translation>同时释放变量并由文件重新创建，使分配器能合并其留下的空间。仅在只有一个优化器、没有您自己的 tf.function 使用这些变量、且没有分布式策略时执行，并且安全；否则变量保留，记录中会说明原因。训练结果不变。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Also writes a .keras file beside the checkpoint, for other programs. This needs a copy of all weights in memory; if it fails, the checkpoint is still valid.</source>
        <translation>同时在检查点旁写入 .keras 文件，供其他程序使用。写入时内存中需有一份全部权重的副本；若失败，检查点仍然有效。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Approximate size in the hub's database</source>
        <translation>在 hub 中大约占用的空间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>As many of the oldest runs as needed to stay within a total of {size}</source>
        <translation>超出 {size} 的最早的运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Ask its administrator whether it was reinstalled. If it was, follow the instructions printed by: {line}</source>
        <translation>请询问其管理者。如果它是重新安装的，请按此命令的提示操作：{line}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Assigns the saved values to the existing variables. Always safe.</source>
        <translation>将保存的值写回现有变量。始终安全。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>At the next safe point, a diagnosis finds which Python objects have grown in number since the previous diagnosis and what holds traces; at the end of the next epoch, it finds which lines allocated memory. Training waits for the diagnosis, usually for less than a second, and the training result does not change.</source>
        <translation>诊断会在下一个安全点查看：与上一次相比哪些 Python 对象变多了、谁持有追踪；并在再下一轮结束时查看哪些代码行分配了内存。训练会为此等待，通常不到一秒，结果不变。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>At the next safe point, find out what is growing and what keeps it in memory</source>
        <translation>在下一个安全点查看什么在增长、被谁持有</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Attempt</source>
        <translation>尝试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Attempts</source>
        <translation>尝试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Audit log</source>
        <translation>审计</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Auto</source>
        <translation>自动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Auto: collect, then reload if needed</source>
        <translation>自动：先清理，无效再重新加载</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <source>Auto: collect, then reload or restart if needed</source>
        <translation>自动：先清理，不够再重新加载或重启</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>Available at the end of the next epoch.</source>
        <translation>在随后一轮结束时给出。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Available on the host</source>
        <translation>主机可提供</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Back</source>
        <translation>返回</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Backend</source>
        <translation>后端</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Batch size</source>
        <translation>批大小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>Before the end</source>
        <translation>结束之前</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Between fits</source>
        <translation>fit 间隙</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Between traces, no tensor changed its shape or type: a Python number or object changed, or the function was created again</source>
        <translation>相邻两次追踪之间没有张量改变形状或类型：改变的是 Python 数值或对象，或者函数本身被重新创建</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>CPU</source>
        <translation>处理器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>CPU clock</source>
        <translation>处理器时钟频率</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>CPU throttled</source>
        <translation>被限制的处理器时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>CPUs in use</source>
        <translation>占用的处理器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>CPUs in use, children</source>
        <translation>子进程占用的处理器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Cancel</source>
        <translation>保持原样</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>Canceled; no results.</source>
        <translation>已放弃；不显示任何结果。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Cannot reach {host}.</source>
        <translation>无法访问 {host}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Cause unknown</source>
        <translation>原因未定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>Cgroup RAM over the last {time}: {first} to {last}, {rate}</source>
        <translation>最后 {time} cgroup 的内存：{first} 到 {last}，{rate}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Cgroup limit</source>
        <translation>cgroup 上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Cgroup usage</source>
        <translation>cgroup 已用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Changes between traces: {what}</source>
        <translation>相邻两次追踪之间的变化：{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/qt/detail_windows.py"/>
        <source>Changes to the script that may help:</source>
        <translation>脚本中可尝试：</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Charts</source>
        <translation>图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Charts show the last data received; training may still be running.</source>
        <translation>图表显示最后收到的数据，训练可能仍在运行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Check and accept it once in a terminal: {line}</source>
        <translation>请在终端中核对并接受一次：{line}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Check the spelling in ~/.ssh/config, and that this machine is on its network.</source>
        <translation>请检查 ~/.ssh/config 中的拼写，以及本机是否在其网络中。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Checkpoint</source>
        <translation>检查点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Checkpoint saved {where}</source>
        <translation>检查点已保存（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Checksum</source>
        <translation>校验和</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Child processes</source>
        <translation>子进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Children</source>
        <translation>子进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/batch_curve.py"/>
        <source>Choose a device to see the largest batch size that fits.</source>
        <translation>选择一个设备，即可看到放得下的最大批大小。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/subjects.py"/>
        <source>Choose the Python file with the model's classes; it runs in a separate process. Code inside the model file runs only with kmonitor map --allow-code.</source>
        <translation>请指明含有其类的 Python 文件：它在独立的进程中运行。文件内部的代码只有用 kmonitor map --allow-code 才会运行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/subjects.py"/>
        <source>Choose the model's architecture, a JSON file from model.to_json().</source>
        <translation>请指明其架构，即 model.to_json() 写出的 JSON 文件。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/feed.py"/>
        <source>Click to show this action's row in the table below</source>
        <translation>单击：在下方表格中定位该行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Close a page, menu or window; clear a search</source>
        <translation>关闭页面、菜单、窗口；清空查找</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Collect</source>
        <translation>清理</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>Collect automatically</source>
        <translation>自动清理</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Collect failed {where}</source>
        <translation>清理失败（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Collect garbage and release the traces of models that no longer exist; the current model is kept</source>
        <translation>回收垃圾并释放已失效模型留下的追踪；当前模型保留</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Collect released nothing {where}</source>
        <translation>清理未释放任何内容（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Collect, then reload if that is not enough; never restart</source>
        <translation>先清理，若仍有可释放的再重新加载；绝不重启</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <source>Collect: release retained traces</source>
        <translation>清理：释放滞留的内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Collected {where}</source>
        <translation>已清理（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Compare the selected runs</source>
        <translation>比较所选运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/comparison.py"/>
        <source>Comparison, {metric}</source>
        <translation>比较，{metric}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>Compiled</source>
        <translation>编译</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Compiled code regions</source>
        <translation>编译代码的区域</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Compiled with XLA</source>
        <translation>由 XLA 编译</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Completed epochs across all fits</source>
        <translation>所有 fit 中已结束的</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Connect to a host</source>
        <translation>连接主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>Connected to the hub on {host}</source>
        <translation>已连接 {host} 上的 hub</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>Connecting to the hub…</source>
        <translation>正在连接 hub…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Connecting…</source>
        <translation>连接中…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/alert_text.py"/>
        <source>Connection to the host lost: {why}</source>
        <translation>主机失联：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>Connection to the hub lost at {time}.</source>
        <translation>与 hub 的连接于 {time} 断开。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Connection to {host} lost at {time}.</source>
        <translation>与 {host} 的连接于 {time} 断开。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/crash_reports.py"/>
        <source>Contains versions, the last log lines and the traceback, but not your user name, your home folder or the names of runs and hosts. kmonitor sends nothing. To report the problem, copy or save this text and add a description of what you were doing.</source>
        <translation>包含版本、最后的日志行和程序所处的位置。不含用户名、主目录、运行和主机名称；kmonitor 不会发送任何内容。若要报告此故障，请复制或保存它，并补充您当时的操作。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Context and other memory of this process</source>
        <translation>本进程的上下文与其余部分</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Context menu</source>
        <translation>可进行的操作</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Context, free pool and other memory of this process</source>
        <translation>本进程的上下文、池中空闲与其余部分</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Copy the selected rows as text</source>
        <translation>将所选行复制为文本</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Copy your key to it: {line}   Or unlock the key: ssh-add</source>
        <translation>向其添加您的密钥：{line}   或解锁密钥：ssh-add</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>Counted by the garbage collector; growth since the last diagnosis</source>
        <translation>由垃圾回收器统计；增长相对于上一次诊断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/subjects.py"/>
        <source>Creating the model, without weights, in a separate process…</source>
        <translation>正在独立的进程中构建模型（不含权重）…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Current or final state</source>
        <translation>进展如何，或如何结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>Custom classes</source>
        <translation>非 Keras 自带</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>DataFrames</source>
        <translation>DataFrame</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Diagnose</source>
        <translation>诊断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Diagnosed {where}</source>
        <translation>已诊断（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Diagnosis after epoch {epoch}: {found}</source>
        <translation>第 {epoch} 轮后的诊断：{found}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Diagnosis failed {where}</source>
        <translation>诊断失败（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Diagnosis up to the end of epoch {epoch}: {found}</source>
        <translation>诊断，跟踪至第 {epoch} 轮结束：{found}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Disk</source>
        <translation>磁盘</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>Disk space used</source>
        <translation>磁盘用量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Duration</source>
        <translation>用时</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>Each loading method runs in new processes, in alternating order. This takes a few seconds per process and needs enough memory for the model.</source>
        <translation>每种加载方式都在新的进程中来回尝试。每个进程需要几秒钟以及模型所占的内存。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Eager</source>
        <translation>不使用计算图</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>Enter 1 MiB or more, or leave this empty to keep all runs.</source>
        <translation>请输入 1 MiB 或更多；留空则全部保留。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>Enter a number of days, such as 90, or leave this empty to keep all runs.</source>
        <translation>请输入天数，例如 90；留空则全部保留。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>Enter a size with a unit, such as 20 GiB or 500 MB.</source>
        <translation>请输入带单位的大小，例如 20 GiB 或 500 MB。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>Enter at most {n} days.</source>
        <translation>最多输入 {n} 天。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Environment</source>
        <translation>环境</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>Epoch</source>
        <translation>轮次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Epoch time</source>
        <translation>轮时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Epochs</source>
        <translation>轮次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Error</source>
        <translation>错误</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Events</source>
        <translation>事件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>Events lost in transit; charts have a gap there</source>
        <translation>途中丢失的事件，图表在该处有缺口</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Events {first} to {last} are missing: {why}</source>
        <translation>缺少事件 {first} 至 {last}：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Everywhere</source>
        <translation>任何位置</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Exited for a restart {where}</source>
        <translation>已退出以重新启动（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Export</source>
        <translation>导出</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Export its data</source>
        <translation>导出其数据</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Export the data of all runs on the charts</source>
        <translation>导出所绘制的所有运行的数据</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Failures and omissions, with reasons</source>
        <translation>失败或略过的内容及原因</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>Fast</source>
        <translation>流畅</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>File-backed pages</source>
        <translation>文件页</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/widgets/dialogs.py"/>
        <source>Files of type:</source>
        <translation>文件类型：</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Find a run or host</source>
        <translation>查找运行或主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Find in the guide</source>
        <translation>在指南中查找</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Find runs</source>
        <translation>查找运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Finished</source>
        <translation>已完成</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>First or last row</source>
        <translation>第一行、最后一行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Fit</source>
        <translation>Fit</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Fit {fit} ended early {done}: {why}</source>
        <translation>第 {fit} 次 fit 提前结束（{done}）：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Fit {fit} failed {done}: {error}</source>
        <translation>第 {fit} 次 fit 失败（{done}）：{error}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Fit {fit} finished {done}</source>
        <translation>第 {fit} 次 fit 完成（{done}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Fit {fit} started: {model}</source>
        <translation>第 {fit} 次 fit 开始：{model}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Fit {fit} stopped {done}</source>
        <translation>第 {fit} 次 fit 停止（{done}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Fit {fit} was interrupted {done}</source>
        <translation>第 {fit} 次 fit 被中断（{done}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>Fit {n}</source>
        <translation>第 {n} 次 fit</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Fold</source>
        <translation>折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Folds</source>
        <translation>各折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>Folds report epochs only if their fit has a MonitorCallback.</source>
        <translation>fit 中有 MonitorCallback 时，各折才会报告其轮。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>For prediction only: {way}</source>
        <translation>仅用于预测：{way}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Framework allocator (CPU)</source>
        <translation>框架分配器 (CPU)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Free</source>
        <translation>空闲</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Free inside the framework's pool</source>
        <translation>框架内存池中的空闲部分</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Freeze the charts or follow the newest data</source>
        <translation>定格图表；再次跟随</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>From the first to the last event</source>
        <translation>从开始到最后一个事件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Functions</source>
        <translation>函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>Functions with their live traces; suspicious ones first</source>
        <translation>函数及其存活追踪；持有失效或过多追踪的在前</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>GPU and allocator</source>
        <translation>GPU 与分配器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>GPU out of memory after about {n} more fits ({low} to {high})</source>
        <translation>大约再进行 {n} 次 fit（{low} 到 {high}）后显存耗尽</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>GPU out of memory after {n} more fits at the earliest</source>
        <translation>最早再进行 {n} 次 fit 后显存耗尽</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>GPU out of memory with the next fit</source>
        <translation>再进行一次 fit 显存就会耗尽</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>GPU power</source>
        <translation>GPU 功耗</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>GPU temperature</source>
        <translation>GPU 温度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>GPU utilization</source>
        <translation>GPU 利用率</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>GPU {n} VRAM, all processes</source>
        <translation>GPU {n} 显存，所有进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>GPU {n} power</source>
        <translation>GPU {n} 功耗</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>GPU {n} temperature</source>
        <translation>GPU {n} 温度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>GPU {n} utilization</source>
        <translation>GPU {n} 利用率</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Generated by kmonitor {version} on {moment}.</source>
        <translation>由 kmonitor {version} 于 {moment} 生成。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Go back in the guide</source>
        <translation>在指南中返回</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <source>Gradients</source>
        <translation>梯度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Gradients, workspace, rounding</source>
        <translation>梯度、工作区、取整</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Graph</source>
        <translation>计算图</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Graph size</source>
        <translation>计算图大小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Grew along with it: {what}</source>
        <translation>同时增长的有：{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Growth</source>
        <translation>增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Guide and other windows</source>
        <translation>指南与其他窗口</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Guide page for the current view</source>
        <translation>指南，打开与当前内容相关的页面</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>HDF5 model</source>
        <translation>HDF5 模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>HDF5, weights only</source>
        <translation>HDF5，只有权重</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>Highest of {n} samples: {amount}</source>
        <translation>{n} 个采样中的最高值：{amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>History and comparison</source>
        <translation>历史与比较</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>History objects</source>
        <translation>History 对象</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>History objects, each with its model,</source>
        <translation>History 对象（各自带着它的模型）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>History of all runs</source>
        <translation>所有运行的历史</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Host</source>
        <translation>主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Host the run is or was running on</source>
        <translation>在哪里运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/alert_text.py"/>
        <source>Host unreachable</source>
        <translation>无法连接主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>How long training waited</source>
        <translation>训练等待了多久</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/batch_curve.py"/>
        <source>How the peak grows with the batch size is not known.</source>
        <translation>峰值如何随批大小增长尚不可知。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>Hub unreachable</source>
        <translation>无法访问 hub</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Hung</source>
        <translation>挂起</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>I/O pressure</source>
        <translation>磁盘压力</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>In the window</source>
        <translation>在应用中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/dry_run.py"/>
        <source>In the {span} measured, {limit} was exceeded {times}: about {n} × {action}.</source>
        <translation>在已测量的 {span} 内，越过 {limit} 共 {times}：约 {n} × {action}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/dry_run.py"/>
        <source>In the {span} measured, {limit} was never exceeded for {hold}.</source>
        <translation>在已测量的 {span} 内，从未持续越过 {limit} 达 {hold}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/dry_run.py"/>
        <source>In the {span} measured, {limit} was never exceeded.</source>
        <translation>在已测量的 {span} 内，从未越过 {limit}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>In this machine's time zone</source>
        <translation>以本机时间显示</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>In use by the framework</source>
        <translation>框架正在使用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>In use by the framework, before → after</source>
        <translation>框架使用中的内存，之前 → 之后</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>In use, resident: weights, optimizer, states</source>
        <translation>使用中，常驻：权重、优化器、状态</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>In use, transient: at this moment in the step</source>
        <translation>使用中，暂时：此刻的训练步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>Input size</source>
        <translation>输入尺寸</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Install it there from a clone: {line}   If it is in an environment that is not activated at login, pass its path: {command}</source>
        <translation>在那里从克隆安装：{line}   如果它在登录时不会进入的环境中，请指定其命令：{command}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Install it: {line}</source>
        <translation>请安装：{line}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Install that version here.</source>
        <translation>请在这里安装那个版本。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Install this version there from a clone: {line}</source>
        <translation>在那里从克隆安装此版本：{line}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Internal kmonitor error in {where}, {count} so far: {text}. Training continues</source>
        <translation>kmonitor 自身在 {where} 出错，至今 {count} 次：{text}。训练继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>Internal kmonitor errors in the training process; training is not affected</source>
        <translation>kmonitor 自身在训练进程中的错误，训练不受影响</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Interrupted</source>
        <translation>已中断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>It happens within epochs, not between them: in steps, validation, or callbacks, except on_epoch_end of those after MonitorCallback</source>
        <translation>它发生在各轮之内，而不是各轮之间：在各步、验证或回调中，但不包括排在 MonitorCallback 之后的回调的 on_epoch_end</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>It may be off, asleep, or on a network that this machine cannot reach.</source>
        <translation>它已关机、休眠，或处于本机无法访问的网络中。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>It rose by more than {rise} in the first epoch and has hardly risen since</source>
        <translation>第一轮中上升超过 {rise}，此后几乎不变</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Its clock is {time} {how} this machine's clock.</source>
        <translation>其时钟比本机{how} {time}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Its process ended unexpectedly; the cause is unknown.</source>
        <translation>进程无声消失，原因未知。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Its process is alive but is not sending any data: a long trace or collection may be blocking it.</source>
        <translation>进程存活但没有发送数据：可能正在进行较长的追踪或清理。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Its ssh server is not running, or listens on another port (Port in ~/.ssh/config).</source>
        <translation>其 ssh 服务未运行，或监听其他端口（~/.ssh/config 中的 Port）。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>Its state from epoch {epoch} is saved ({size}): `kmonitor checkpoints {run}` lists it and `kmonitor restore` turns it into a model</source>
        <translation>第 {epoch} 轮的状态已保存（{size}）：`kmonitor checkpoints {run}` 可列出它，`kmonitor restore` 可由它生成模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>JAX arrays</source>
        <translation>JAX 数组</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>JAX does not report the memory of {name}</source>
        <translation>JAX 不报告 {name} 的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>JAX has not initialized its devices yet</source>
        <translation>JAX 尚未启动其设备</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>JAX's allocator cannot be read: {why}</source>
        <translation>无法读取 JAX 的分配器：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>JSON, architecture only</source>
        <translation>JSON，只有架构</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Job</source>
        <translation>作业</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>Keep</source>
        <translation>保留</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>Keep less</source>
        <translation>减少保留</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>Keep less history?</source>
        <translation>减少保留的历史？</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Keep running</source>
        <translation>继续运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Keep the variables (assign)</source>
        <translation>保留变量 (assign)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Keep this run when old runs are removed to save space</source>
        <translation>为腾出空间而移除旧运行时保留</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>Keras archive</source>
        <translation>Keras 归档</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Keras has not created a step function for this model, so there was nothing to reload; {why}</source>
        <translation>Keras 没有为此模型生成步函数，因此没有可重新加载的内容；{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>Keras logs, at the end of each epoch</source>
        <translation>Keras 日志，每轮结束时</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>Keras variables</source>
        <translation>Keras 变量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>Keras' registry of custom objects</source>
        <translation>Keras 的自定义对象注册表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Killed</source>
        <translation>被终止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Last checkpoint</source>
        <translation>最近的检查点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Last checkpoint: epoch {n}</source>
        <translation>最近的检查点：第 {n} 轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Last readings</source>
        <translation>最后读数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Layer</source>
        <translation>层</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Layers</source>
        <translation>层</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Learning rate</source>
        <translation>学习率</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Likely: it changed at the same time, but it is not proven to be the cause</source>
        <translation>可能的原因：它同时发生了变化，但未得到证明</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Likely: this is the usual cause of such growth, but it is not proven here</source>
        <translation>通常由此引起增长，但未得到证明</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/alert_text.py"/>
        <source>Limit action did not help</source>
        <translation>上限的动作没有奏效</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Limit exceeded {where}</source>
        <translation>超过上限（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Limit handle</source>
        <translation>上限的手柄</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Limits</source>
        <translation>上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>Loading the settings of this machine's hub…</source>
        <translation>正在询问本机的 hub…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/formats.py"/>
        <source>Loading: {done} of {all} events read</source>
        <translation>仍在处理：已读取 {done} / {all} 个事件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/feed.py"/>
        <location filename="../../kmonitor/ui/compare/comparison.py"/>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <location filename="../../kmonitor/ui/text/formats.py"/>
        <source>Loading…</source>
        <translation>仍在处理…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Longest step</source>
        <translation>最长的一步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/widgets/dialogs.py"/>
        <source>Look in:</source>
        <translation>查找范围：</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Loss</source>
        <translation>损失</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Lost</source>
        <translation>失联</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Major page faults</source>
        <translation>主要缺页</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Mean step time</source>
        <translation>平均步时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Measured: it grew over the same period</source>
        <translation>正是它被统计到，并在相同区间内增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Measured: the allocator counted nothing at batch size {batch} ({source})</source>
        <translation>实测：批大小 {batch} 时分配器没有计入任何内容（{source}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Measured: {size} at batch size {batch} ({source})</source>
        <translation>实测：{size}，批大小 {batch}（{source}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>Median memory and best time. Memory is the RAM of the process, not counting the imported framework; no GPU is used. Model files contain neither the order of the data nor your script's random seeds.</source>
        <translation>内存为中位数，时间为最短值。内存是进程在导入框架之后又增加的 RAM；不使用 GPU。数据的顺序和脚本的随机种子不在任何模型文件中。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/map_estimator.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Memory map</source>
        <translation>内存地图</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Memory map of a model file</source>
        <translation>模型文件的内存地图</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Memory map of the selected run</source>
        <translation>所选运行的内存地图</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Memory of the framework's allocator</source>
        <translation>框架的分配器中有什么</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Memory of the process, before → after</source>
        <translation>进程的常驻内存，之前 → 之后</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Memory pressure</source>
        <translation>内存压力</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>Memory that each line allocated and kept between two safe points</source>
        <translation>各行在两个安全点之间分配并保留的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Metric</source>
        <translation>指标</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Metrics</source>
        <translation>指标</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Metrics that are growing</source>
        <translation>什么在增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/map_estimator.py"/>
        <source>Model file</source>
        <translation>模型文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Model {model}: 1 layer, {parameters} parameters ({size})</source>
        <translation>模型 {model}：1 层，{parameters} 个参数（{size}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Model {model}: {layers} layers, {parameters} parameters ({size})</source>
        <translation>模型 {model}：{layers} 层，{parameters} 个参数（{size}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Model {name}</source>
        <translation>模型 {name}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <source>Models (fits)</source>
        <translation>模型（fit 次数）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/evidence.py"/>
        <source>Models trained in a loop in one process</source>
        <translation>一个进程中循环训练多个模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>More options: {title}</source>
        <translation>其他方式：{title}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>More save and reload options (in the menus of their buttons)</source>
        <translation>保存或重新加载的其他方式（在其按钮上）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Move the crosshair in all charts</source>
        <translation>移动所有图表的十字线</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Name; pinned runs are marked with a pin</source>
        <translation>名称；已固定的带有图钉</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Names and text come from the training script.</source>
        <translation>名称和文本来自脚本。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>Native memory in use</source>
        <translation>已用原生内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Next match</source>
        <translation>找到的下一处</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Next or previous control</source>
        <translation>下一个、上一个控件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Next or previous part of the window</source>
        <translation>窗口的下一个、上一个部分</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Next or previous row</source>
        <translation>下一行、上一行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>No GPU: these numbers come from the framework's CPU allocator, whose memory is part of the process's RAM.</source>
        <translation>这里没有读取 GPU：这些是框架的 CPU 分配器的数字，其内存是进程 RAM 的一部分。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_log.py"/>
        <source>No actions yet.</source>
        <translation>尚无操作。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>No active limits</source>
        <translation>没有生效的上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>No checkpoint was saved</source>
        <translation>没有保存过检查点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>No checkpoint yet</source>
        <translation>尚无检查点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>No data</source>
        <translation>无数据</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>No data for {time}</source>
        <translation>{time} 无数据</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/epoch_parts_chart.py"/>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <location filename="../../kmonitor/ui/charts/standard_charts.py"/>
        <source>No data here</source>
        <translation>此处没有数据，或不是数值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/standard_charts.py"/>
        <source>No data in this range</source>
        <translation>此范围内无数据</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_log.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>No events yet.</source>
        <translation>尚未发生任何事。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>No fit has started; memory is judged from call to call.</source>
        <translation>尚未开始 fit；内存按调用逐次判断。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>No fold has finished an epoch yet.</source>
        <translation>还没有哪一折报告过轮。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>No fold has reported its memory yet.</source>
        <translation>还没有哪一折报告过内存。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>No keys are authorized.</source>
        <translation>没有密钥可以连接。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>No limit is set.</source>
        <translation>未设置上限。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>No limit is set. Drag the dotted line in a chart:</source>
        <translation>未设置上限。拖动图表中的虚线：</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>No model was reported.</source>
        <translation>未告知模型。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>No note</source>
        <translation>无备注</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>No referrer was found.</source>
        <translation>未找到引用者。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>No rule covers {kinds}: a value is assumed for their memory, so the interval is wider</source>
        <translation>没有规则覆盖 {kinds}：按假定计算，区间更宽</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/map_estimator.py"/>
        <source>No run is selected.</source>
        <translation>没有选中运行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/run_history.py"/>
        <source>No run matches the filters. Clear them to see all runs.</source>
        <translation>没有符合条件的运行。清除筛选可查看全部。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>No run or host matches “{search}”.</source>
        <translation>没有名为“{search}”的运行或主机。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>No run selected</source>
        <translation>未选择运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>No runs yet.</source>
        <translation>尚无运行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/run_history.py"/>
        <source>No runs yet. Each training run that uses MonitorCallback() will be listed here.</source>
        <translation>尚无运行。每次使用 MonitorCallback() 的训练都会列在这里。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>No step for {time}</source>
        <translation>{time} 没有训练步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>No value yet.</source>
        <translation>还没有数值。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>No verdicts: no epoch has completed.</source>
        <translation>未作判定：没有轮次结束。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_log.py"/>
        <source>No warnings.</source>
        <translation>没有警告。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/arrangement.py"/>
        <source>None</source>
        <translation>无</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/comparison.py"/>
        <source>None of these runs measured this.</source>
        <translation>这些运行都没有测量它。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>Normal</source>
        <translation>平缓</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Not available</source>
        <translation>不可用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/comparison.py"/>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Not connected to the hub.</source>
        <translation>无法访问 hub。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Not connected to the hub; actions cannot be sent.</source>
        <translation>无法访问 hub，现在的请求不会送达。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Not connected.</source>
        <translation>现在未连接。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Not corrected by measurements: {why}</source>
        <translation>未按实测校正：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>Not counted.</source>
        <translation>未统计。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/batch_curve.py"/>
        <source>Not even a batch size of 1 is expected to fit in {size}.</source>
        <translation>预计连批大小 1 也放不进 {size}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Not measured: {why}</source>
        <translation>未实测：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Not possible in this process.</source>
        <translation>此进程中不可用。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Not run</source>
        <translation>未运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Not saved</source>
        <translation>未保存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Note</source>
        <translation>备注</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Note about the run</source>
        <translation>有人写下的备注</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Note…</source>
        <translation>备注…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Nothing has been reclaimed in this run yet. Each save, collect, reload and restart appears here with memory before and after, what was released, and what holds the rest.</source>
        <translation>此运行尚未回收过任何内容。每次保存、清理、重新加载和重启都会列在这里，包括前后的用量、释放了什么、其余由谁持有。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Nothing was reclaimed.</source>
        <translation>未回收任何内容。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>Nothing was saved. `kmonitor run --resume-after-crash 3 -- python ...` saves regularly and continues after a crash</source>
        <translation>没有保存任何状态。`kmonitor run --resume-after-crash 3 -- python ...` 会边运行边保存，并在崩溃后继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <source>Notify only</source>
        <translation>仅提醒</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>NumPy arrays</source>
        <translation>NumPy 数组</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <source>Older entries: kmonitor audit --last N</source>
        <translation>更早的：kmonitor audit --last N</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>On the training data</source>
        <translation>训练数据</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>On the validation data</source>
        <translation>验证数据</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>On {host}: {what}</source>
        <translation>{host} 上：{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Open a folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Open file descriptors</source>
        <translation>打开的文件描述符</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>Open the model file to try other lengths.</source>
        <translation>打开该模型的文件：有了它就能尝试其他长度。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Open the run on the charts</source>
        <translation>在图表中打开运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Operations in live traces, before → after</source>
        <translation>存活追踪中的算子，之前 → 之后</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>Optimizer settings</source>
        <translation>优化器设置</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Optimizer state</source>
        <translation>优化器状态</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Other memory of this process, and other processes</source>
        <translation>本进程的其余部分与其他进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Other processes</source>
        <translation>其他进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Other resident</source>
        <translation>其他常驻</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Out of memory</source>
        <translation>内存不足</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>Out, the notebook's stored cell outputs</source>
        <translation>Out（笔记本各单元格的结果）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Output</source>
        <translation>输出</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>Part of the window has stopped working.</source>
        <translation>窗口的一部分已停止工作。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/crash_reports.py"/>
        <source>Part of the window stopped working ({time}).</source>
        <translation>窗口的一部分出过错（{time}）。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Pause failed {where}</source>
        <translation>暂停失败（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Pause or resume</source>
        <translation>暂停、继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Pause training after the current batch</source>
        <translation>在当前批次后暂停训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Paused</source>
        <translation>已暂停</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Paused after step {step} of epoch {n}; press Resume to continue</source>
        <translation>已在第 {n} 轮第 {step} 步后暂停；点“继续”恢复训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Paused in epoch {n}; press Resume to continue</source>
        <translation>已在第 {n} 轮暂停；点“继续”恢复训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Paused {where}</source>
        <translation>已暂停（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Paused; press Resume to continue</source>
        <translation>已暂停；点“继续”恢复训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Peak by batch size</source>
        <translation>各批大小下的峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/batch_curve.py"/>
        <source>Peak by batch size: {low} at {first}, {high} at {last}.</source>
        <translation>峰值与批大小：{first} 时 {low}，{last} 时 {high}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>Peak memory</source>
        <translation>内存峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>Peak memory, {unit}</source>
        <translation>内存峰值，{unit}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Peak resident set size</source>
        <translation>常驻集峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Peak {size}</source>
        <translation>峰值 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Pin</source>
        <translation>固定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Pin or unpin</source>
        <translation>固定、取消固定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Pinned: never removed to save space</source>
        <translation>已固定：不会为腾出空间而移除</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Precision</source>
        <translation>精度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Press Reload on the right, or set a limit on a chart.</source>
        <translation>右侧的“重新加载”立即执行；图表上的上限则自动执行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Press the focused button</source>
        <translation>按下有焦点的按钮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Previous or next diagnosis</source>
        <translation>上一次、下一次诊断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Previous or next run, when no list has focus</source>
        <translation>上一个、下一个运行（列表没有焦点时）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Previous or next run, wherever the focus is</source>
        <translation>上一个、下一个运行（无论焦点在哪里）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Probably a dataset cache; this is not proven</source>
        <translation>数据集缓存会如此，但未得到证明</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Process</source>
        <translation>进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process died: {why}</source>
        <translation>进程异常终止：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process ended with exit status {status}</source>
        <translation>进程以退出状态 {status} 结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process exited for a restart</source>
        <translation>进程结束以便重新启动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process failed: {error}</source>
        <translation>进程失败：{error}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process finished</source>
        <translation>进程已完成</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process stopped as requested</source>
        <translation>进程已按要求停止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process was interrupted</source>
        <translation>进程被中断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process was killed: out of memory</source>
        <translation>进程因内存不足被杀死</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process was terminated by {signal}</source>
        <translation>进程被 {signal} 结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process was terminated by {why}</source>
        <translation>进程被结束：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Process {pid} started on {host}</source>
        <translation>进程 {pid} 已在 {host} 上启动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>Process {pid}, version {version}, {rows} events stored</source>
        <translation>进程 {pid}，版本 {version}，已存储 {rows} 个事件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Processes</source>
        <translation>进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Pruned</source>
        <translation>已剪枝</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>PyTorch</source>
        <translation>PyTorch</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>PyTorch has not initialized the GPU yet</source>
        <translation>PyTorch 尚未启动其 GPU</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>PyTorch keeps freed memory in its pool. torch.cuda.empty_cache() returns free memory to the driver; it does not help PyTorch itself.</source>
        <translation>PyTorch 把释放的内存留在内存池中。torch.cuda.empty_cache() 把池中空闲的部分还给驱动；它不会为 PyTorch 自己腾出空间。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>PyTorch tensors</source>
        <translation>PyTorch 张量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>PyTorch tensors with their graphs</source>
        <translation>带计算图的 PyTorch 张量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>PyTorch's allocator cannot be read: {why}</source>
        <translation>无法读取 PyTorch 的分配器：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>Python code in map() (py_function, numpy_function) runs one call at a time: use TensorFlow operations, or a PyDataset with workers</source>
        <translation>map() 中的 Python 代码（py_function、numpy_function）每次只运行一个调用：请改用 TensorFlow 运算，或带 workers 的 PyDataset</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>Python code in map() (py_function, numpy_function) runs one call at a time: use TensorFlow operations, or a PyDataset with workers and use_multiprocessing=True</source>
        <translation>map() 中的 Python 代码（py_function、numpy_function）每次只运行一个调用：请改用 TensorFlow 运算，或带 workers 且 use_multiprocessing=True 的 PyDataset</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>Python memory by line</source>
        <translation>按代码行统计的 Python 内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Python objects accumulate between full collections; Collect runs one</source>
        <translation>Python 对象在两次完整垃圾回收之间不断累积；“清理”会进行一次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Python objects are kept alive</source>
        <translation>Python 持有对象</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>Python objects by type</source>
        <translation>按类型统计的 Python 对象</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>Python's garbage collector hardly runs (gc.set_threshold), so objects that refer to each other are not freed</source>
        <translation>Python 的垃圾回收器几乎不运行（gc.set_threshold），相互引用的对象因此没有释放</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>Python's garbage collector is off (gc.disable), so objects that refer to each other are never freed</source>
        <translation>Python 的垃圾回收器已关闭（gc.disable），相互引用的对象因此从不释放</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>RAM left</source>
        <translation>剩余内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>RAM over the last {time}: {first} to {last}, {rate}</source>
        <translation>最后 {time} 的内存：{first} 至 {last}，{rate}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>RAM peak</source>
        <translation>内存峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>RAM up to {size}</source>
        <translation>内存最高 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>RAM {size}</source>
        <translation>内存 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>RAM, cgroup</source>
        <translation>内存，cgroup</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>RAM, children</source>
        <translation>内存，子进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>RAM, file-backed pages</source>
        <translation>内存，文件页</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>RAM, this process</source>
        <translation>内存，本进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>RAM, unique set size (USS)</source>
        <translation>内存，独占集大小 (USS)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Raise or lower</source>
        <translation>升高、降低</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Raise or lower in large steps</source>
        <translation>大幅升高、大幅降低</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>Range of all values: {range}</source>
        <translation>全部测量值的范围：{range}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Reading</source>
        <translation>读数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>Reading the file…</source>
        <translation>正在读取文件…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Reason</source>
        <translation>原因</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>Reclaim automatically</source>
        <translation>自动回收</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Reclaims</source>
        <translation>回收</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Recreate the variables (recreate)</source>
        <translation>重新创建变量 (recreate)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Registered functions</source>
        <translation>已注册函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Registered functions, before → after</source>
        <translation>已注册函数，之前 → 之后</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Released</source>
        <translation>已释放</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Released traces, and the models that they belonged to</source>
        <translation>释放的追踪，以及所属的已失效模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Reload</source>
        <translation>重新加载</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>Reload automatically</source>
        <translation>自动重新加载</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Reload failed {where}</source>
        <translation>重新加载失败（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Reload released nothing {where}</source>
        <translation>重新加载未释放任何内容（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Reloaded {where}</source>
        <translation>已重新加载（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Remove (with confirmation)</source>
        <translation>删除（先询问）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Remove host</source>
        <translation>移除主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>Remove run</source>
        <translation>删除运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Remove this run from the history</source>
        <translation>从历史中删除</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>Remove {n} runs</source>
        <translation>删除 {n} 个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>Remove {n} runs?</source>
        <translation>删除 {n} 个运行？</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Remove “{host}”?</source>
        <translation>移除“{host}”？</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>Remove “{name}”?</source>
        <translation>删除“{name}”？</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Remove…</source>
        <translation>移除…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Rename</source>
        <translation>重命名</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Rename this run</source>
        <translation>重命名</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Rename…</source>
        <translation>重命名…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Report as a single HTML file</source>
        <translation>报告，一个 HTML 文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Requested by</source>
        <translation>请求者</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Resident and transient</source>
        <translation>其中常驻与暂时的部分</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Resources</source>
        <translation>资源</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>Restart</source>
        <translation>重启</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>Restart automatically</source>
        <translation>自动重启</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Restart failed {where}</source>
        <translation>重启失败（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Restart process</source>
        <translation>重启进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Restart the process</source>
        <translation>重启进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <source>Restart the process and continue</source>
        <translation>重启进程并继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Restart the process of “{name}”?</source>
        <translation>重启“{name}”的进程？</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Restarted {where}</source>
        <translation>已重启（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Restarting</source>
        <translation>重启中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <source>Result</source>
        <translation>结果</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Resume failed {where}</source>
        <translation>继续失败（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Resume training</source>
        <translation>让训练继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Resumed {where}</source>
        <translation>已继续（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Retry</source>
        <translation>重试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>Retry now</source>
        <translation>立即重试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Retrying in {time}.</source>
        <translation>{time} 后重试。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Retrying now.</source>
        <translation>正在重试。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>Revoke key</source>
        <translation>撤销密钥</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>Revoke “{name}”?</source>
        <translation>撤销“{name}”？</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>RssAnon + VmSwap of each process; pages shared by forks may be counted twice: {why}</source>
        <translation>各自的 RssAnon + VmSwap，fork 共享的部分可能重复计算：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <location filename="../../kmonitor/ui/memory/map_estimator.py"/>
        <source>Run</source>
        <translation>运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/alert_text.py"/>
        <source>Run crashed</source>
        <translation>运行异常终止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/alert_text.py"/>
        <source>Run ended</source>
        <translation>运行结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Running</source>
        <translation>运行中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Running an action</source>
        <translation>正在执行操作</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Runs and charts</source>
        <translation>运行与图表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>Runs appear once the hub has started.</source>
        <translation>hub 启动后会显示运行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>Runs on {host} are read-only: your key there has the viewer role.</source>
        <translation>您可以查看 {host} 的运行，但不能发出命令：您在那里的密钥是查看者密钥。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>Runs that ended more than {n} days ago</source>
        <translation>{n} 天以前结束的运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>SIGINT, which was sent only to this process</source>
        <translation>SIGINT，只发给了它</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>SQLite</source>
        <translation>SQLite</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <source>Save + Clear + Reload</source>
        <translation>保存 + 清空 + 重新加载</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Save a checkpoint</source>
        <translation>保存检查点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Save a checkpoint and a .keras file</source>
        <translation>保存检查点和 .keras 文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Save a checkpoint at the end of this epoch</source>
        <translation>在本轮结束时保存检查点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Save a note</source>
        <translation>保存备注</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Save checkpoint</source>
        <translation>保存检查点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Save failed {where}</source>
        <translation>保存失败（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Save, clear and reload</source>
        <translation>保存、清空并重新加载</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Save, clear the session and reload at the end of this epoch; does not change the training result</source>
        <translation>在本轮结束时保存、清空会话并重新加载；结果不变</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>Saved</source>
        <translation>保存时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Script</source>
        <translation>脚本</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Search resumed: {function}, {over} already finished</source>
        <translation>搜索继续：{function}，其中 {over} 次试验已结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Search: {function}</source>
        <translation>搜索：{function}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/map_estimator.py"/>
        <source>Select a run, or open a model file: .keras, .h5 or .json.</source>
        <translation>请选择一个运行，或打开模型文件：.keras、.h5 或模型的 .json。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Select a run.</source>
        <translation>请选择运行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Select all rows</source>
        <translation>选择所有行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Select one run to open or rename it, or several with Shift or Ctrl to compare them.</source>
        <translation>选择一个可打开或命名；用 Shift 或 Ctrl 选择多个可比较。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Select one run.</source>
        <translation>请选择一个运行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Select two to six runs (Shift or Ctrl).</source>
        <translation>请选择 2 到 6 个运行（Shift 或 Ctrl）。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>Sequence length</source>
        <translation>序列长度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Set AllowStreamLocalForwarding yes in its sshd_config.</source>
        <translation>其 ssh 服务器需要 AllowStreamLocalForwarding yes（sshd_config）。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Set limits</source>
        <translation>设置上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Set the limit</source>
        <translation>设置上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Shared memory</source>
        <translation>共享内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Show or hide events below the charts</source>
        <translation>显示或隐藏图表下方的事件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Show or hide reclaims below the charts</source>
        <translation>显示或隐藏图表下方的回收</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Show the full text of the row</source>
        <translation>显示该行的全文</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Show the runs on one chart, with their differences</source>
        <translation>在同一图表中显示，并列出差异</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Show the whole run and follow it</source>
        <translation>显示整个运行并跟随</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Show this run on the charts</source>
        <translation>在图表中显示</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>Showing {folder}, read-only</source>
        <translation>正在显示 {folder}（只读）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>Shown after the first steps of an epoch.</source>
        <translation>一轮的前几步之后显示。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>Shown once a fit has started.</source>
        <translation>fit 开始后显示。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/epoch_parts_chart.py"/>
        <source>Shown once an epoch has ended.</source>
        <translation>一个轮次结束后显示。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>Shown once an epoch has reported this metric.</source>
        <translation>有轮次给出数值后显示。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>Slow</source>
        <translation>节省</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Source</source>
        <translation>来源</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Source, or why the value is missing</source>
        <translation>来源，或没有的原因</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Source: {source}</source>
        <translation>来源：{source}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Sources of the metrics</source>
        <translation>各数值的来源</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>Space used on the temp disk</source>
        <translation>临时文件所在磁盘的用量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/first_start.py"/>
        <source>Start the demo</source>
        <translation>启动演示</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Start the script again in a new process at the end of this epoch, and resume</source>
        <translation>在本轮结束时于新进程中再次启动脚本并继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Started</source>
        <translation>开始时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Starting</source>
        <translation>启动中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/first_start.py"/>
        <source>Starting the demo…</source>
        <translation>演示启动中…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <location filename="../../kmonitor/ui/shell/first_start.py"/>
        <source>Starting the hub…</source>
        <translation>正在启动 hub…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <source>Starts over after each reload, once one warm-up epoch has passed</source>
        <translation>在上次重新加载并预热一轮之后重新计算</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>State</source>
        <translation>状态</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Step time</source>
        <translation>步时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Step time, 95th percentile</source>
        <translation>步时间，第 95 百分位数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Step time, 99th percentile</source>
        <translation>步时间，第 99 百分位数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <source>Step time, last epoch</source>
        <translation>步时间，最后一轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <source>Step time, median over all epochs</source>
        <translation>步时间，所有轮次的中位数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Steps</source>
        <translation>步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>Steps in this epoch</source>
        <translation>本轮的步数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Steps per epoch</source>
        <translation>每轮步数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Still held</source>
        <translation>仍被持有</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Stop failed {where}</source>
        <translation>停止失败（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <source>Stop training</source>
        <translation>停止训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Stop training (with confirmation)</source>
        <translation>停止训练（先询问）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Stop training after this epoch</source>
        <translation>在本轮后结束训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Stop “{name}”?</source>
        <translation>停止“{name}”？</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Stopped {where}</source>
        <translation>已停止（{where}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>Stored size</source>
        <translation>存储</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Study of 1 fold resumed: {function}, {over} already finished</source>
        <translation>1 折的研究继续：{function}，其中 {over} 折已结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Study of 1 fold: {function}</source>
        <translation>1 折的研究：{function}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Study of {folds} folds resumed: {function}, {over} already finished</source>
        <translation>{folds} 折的研究继续：{function}，其中 {over} 折已结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Study of {folds} folds: {function}</source>
        <translation>{folds} 折的研究：{function}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Swapped out</source>
        <translation>已换出</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Tables and lists</source>
        <translation>表格与列表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Temporary files</source>
        <translation>临时文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>TensorFlow</source>
        <translation>TensorFlow</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>TensorFlow does not report the size of its pool</source>
        <translation>TensorFlow 不告知其内存池有多大</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>TensorFlow has not initialized its devices yet</source>
        <translation>TensorFlow 尚未启动其设备</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>TensorFlow keeps VRAM until its process ends: after a reload, the driver and nvidia-smi still show the same total, and only the amount in use inside the pool decreases. Free memory inside the pool is available to this process, but not to others.</source>
        <translation>TensorFlow 取得的显存会一直保留到进程结束：重新加载之后，驱动和 nvidia-smi 显示的和以前一样多。下降的只是正在使用的部分。池中空闲的部分可供本进程使用，其他进程不能用。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>TensorFlow tensors</source>
        <translation>TensorFlow 张量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>TensorFlow's allocator cannot be read: {why}</source>
        <translation>无法读取 TensorFlow 的分配器：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>TensorFlow's root graph</source>
        <translation>TensorFlow 的根图</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>The action, and how a reload restored the state</source>
        <translation>做了什么，以及重新加载如何恢复</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The alert command cannot be run: {why}.</source>
        <translation>无法运行提醒命令：{why}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The alert command exited with status {status}.</source>
        <translation>提醒命令以状态 {status} 结束。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The alert command exited with status {status}. {said}</source>
        <translation>提醒命令以状态 {status} 结束。{said}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The alert command was killed: it took longer than {n} s.</source>
        <translation>已终止提醒命令：运行超过 {n} s。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The alert webhook at {host} could not be reached: {why}.</source>
        <translation>无法连接 {host} 上的提醒 webhook：{why}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The alert webhook at {host} did not respond: {why}.</source>
        <translation>{host} 上的提醒 webhook 没有回答：{why}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The alert webhook at {host} rejected the alert: {why}.</source>
        <translation>{host} 上的提醒 webhook 拒绝了请求：{why}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <source>The audit log is empty.</source>
        <translation>尚无任何操作。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>The clock on {host} is {time} ahead of this machine's clock.</source>
        <translation>{host} 的时钟比本机快 {time}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The command cannot be parsed: {why}.</source>
        <translation>无法解读命令：{why}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The command is empty.</source>
        <translation>命令为空。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The connection to {host} was lost.</source>
        <translation>与 {host} 的连接已断开。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>The context is what the driver's libraries load for each process, a few hundred MiB; it cannot be read separately.</source>
        <translation>上下文是驱动库为每个进程加载的内容，约几百 MiB；没有读数单独给出它。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/first_start.py"/>
        <source>The demo is starting; importing TensorFlow takes a few seconds.</source>
        <translation>演示正在启动，导入 TensorFlow 需要几秒钟。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>The first process is loading the model…</source>
        <translation>第一个进程正在加载模型…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>The history has {n} events and uses {size} on disk.</source>
        <translation>历史中现有 {n} 个事件，占用磁盘 {size}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The host key of {host} has changed: the host was reinstalled, or a different machine is responding under its name.</source>
        <translation>{host} 的主机密钥与之前不同：重新安装过，或不是同一台机器。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The host key of {host} is not known yet.</source>
        <translation>这里尚不认识 {host} 的主机密钥。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>The host will be removed from this window, and its runs will no longer be shown. Nothing on the host changes: training runs and the hub keep running, and connecting again brings everything back.</source>
        <translation>此主机会从窗口中移除，不再显示其运行。主机上的一切保持不变：训练和 hub 继续运行，重新连接即可恢复全部内容。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>The hub cannot start</source>
        <translation>hub 未启动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>The hub cannot start.</source>
        <translation>hub 未能启动。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>The hub on {host} cannot store new data.</source>
        <translation>{host} 上的 hub 无法再保存新内容。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>The hub on {host} has a problem.</source>
        <translation>{host} 上的 hub 出现问题。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The hub on {host} has stopped.</source>
        <translation>{host} 上的 hub 已结束。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>The hub on {host} is currently unreachable.</source>
        <translation>现在无法访问 {host} 的 hub。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <source>The hub refused the request: {why}.</source>
        <translation>hub 拒绝：{why}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The kmonitor installation on {host} is too old to work with the version on this machine.</source>
        <translation>{host} 上的 kmonitor 对这里的版本来说太旧。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <source>The last value</source>
        <translation>最后值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>The limit is {limit}</source>
        <translation>上限为 {limit}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>The machine with this key will no longer be able to connect to this machine's hub; any open connection will end at once. To allow it again, run kmonitor authorize with its key.</source>
        <translation>持有此密钥的机器不能再连接本机的 hub；若已连接则立即断开。要重新准入，须用 kmonitor authorize 和它的密钥。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/map_estimator.py"/>
        <source>The model has a variable-length input: one of its tensors has shape ({shape}). Choose a length.</source>
        <translation>模型有一个长度可变的输入：某个张量的形状为（{shape}）。请选择长度。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>The process ends after the current epoch, and kmonitor run starts the script again; the script resumes from that point. Weights, optimizer, history and random state are kept; code before fit runs again.</source>
        <translation>进程在当前轮次后结束，kmonitor run 会再次启动脚本并从那里继续：权重、优化器、历史和随机状态都会保留，脚本在 fit 之前所做的会再做一遍。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>The process has started, but no fit has.</source>
        <translation>进程已启动，尚未开始 fit。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>The process is alive; no fit is running.</source>
        <translation>进程存活，没有正在运行的 fit。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The program was not found: {name}</source>
        <translation>找不到程序：{name}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>The run ended before this was measured.</source>
        <translation>运行在测量之前已结束。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>The run has ended ({state}); no further actions are possible.</source>
        <translation>运行已结束（{state}），无法再对它提出请求。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>The run has ended; its limits are no longer monitored.</source>
        <translation>运行已结束，不再监视其上限。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>The run's model has a variable-length input, and one of its layers may change that length.</source>
        <translation>该运行的模型有一个长度可变的输入，而它的某个层可能会改变这个长度。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>The same, recreating the variables</source>
        <translation>同上，并重新创建变量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>The selected run</source>
        <translation>所选运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>The webhook must be a URL of the form https://HOST/PATH or http://HOST/PATH.</source>
        <translation>webhook 应写成 https://主机/路径 或 http://主机/路径。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/crash_reports.py"/>
        <source>The window crashed ({time}).</source>
        <translation>窗口崩溃过（{time}）。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <source>Theil-Sen slope {span}, since the last reload</source>
        <translation>自上次重新加载以来，{span}的 Theil-Sen 斜率</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>This folder is read-only here.</source>
        <translation>这里只查看文件夹，不更改其中任何内容。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>This host's runs are listed under {host}, with which it shares a hub.</source>
        <translation>它与 {host} 共用一个 hub：运行列在那里。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>This hub was started with --keep-days or --keep-size: these options take precedence until it is restarted without them.</source>
        <translation>这个 hub 启动时带有 --keep-days 或 --keep-size：在不带它们重新启动之前，以它们为准。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>This machine's hub does not listen on the network.</source>
        <translation>本机的 hub 不在网络上监听。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>This machine's hub is not running; the settings will apply once it starts.</source>
        <translation>本机的 hub 未连上；它运行后会遵守这里的设置。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>This machine's hub listens on {address}</source>
        <translation>本机的 hub 监听 {address}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>This page</source>
        <translation>本页</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>This process</source>
        <translation>本进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>This run belongs to another of the team's hubs: connect to its host to send actions.</source>
        <translation>该运行由团队的另一个 hub 保存：要向它提出请求，请连接到它所在的主机。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>This run does not accept actions: it was started with commands=False.</source>
        <translation>此运行不接受命令：它以 commands=False 启动。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>This run ended before it reported its model, or its version of kmonitor was too old to do so.</source>
        <translation>此运行在告知其模型之前就结束了，或者其代理版本太旧。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>This run has not reported its model yet; it will do so when the model is built, no later than the first step.</source>
        <translation>此运行尚未告知其模型：模型构建好时就会告知，最迟在第一步。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>This run is pinned.</source>
        <translation>它已固定。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>This run was read from a folder: actions cannot be sent to its process.</source>
        <translation>此运行是从文件夹读取的：无法从这里请求其进程。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/subjects.py"/>
        <source>This takes a few seconds, mostly to start the framework.</source>
        <translation>这需要几秒钟，大部分用于启动框架。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/epoch_parts_chart.py"/>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>This was not measured in this run.</source>
        <translation>此运行没有测量它。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>Threads</source>
        <translation>线程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Throttled at memory.high</source>
        <translation>在 memory.high 处限速</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Tier 1 · measured at several batch sizes</source>
        <translation>第 1 级 · 在多个批大小下实测</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Tier 2 · rules scaled by one measurement</source>
        <translation>第 2 级 · 按一次实测校准的规则</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Tier 3 · not corrected by measurements</source>
        <translation>第 3 级 · 未经实测校正</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Tier 3 · nothing measured</source>
        <translation>第 3 级 · 未实测</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Timeout</source>
        <translation>超时</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>To continue training: {way}</source>
        <translation>继续训练：{way}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>To start, press Collect (the lightest action) on the right, or set a limit on a chart.</source>
        <translation>右侧的“清理”最轻；也可在图表上设置上限。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Too large</source>
        <translation>过大</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Total</source>
        <translation>合计</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>Traces and what holds them</source>
        <translation>追踪及其引用者</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Traces that could not be released, and what holds them</source>
        <translation>未能释放的追踪及其引用者</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Trainable</source>
        <translation>可训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>Training</source>
        <translation>训练中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>Training epoch and step, and the time</source>
        <translation>训练的轮次和步，以及时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Training is paused</source>
        <translation>训练已暂停</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>Training metrics</source>
        <translation>训练指标</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>Training paused for</source>
        <translation>训练等待</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>Training resumed</source>
        <translation>训练继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Trial</source>
        <translation>试验</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Trials</source>
        <translation>各次试验</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>Tried: {what}</source>
        <translation>已试过：{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Try connecting in a terminal; ssh must connect without a prompt: {line}</source>
        <translation>请在终端中尝试，必须无需提问即可成功：{line}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Type</source>
        <translation>类型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Unique set size (USS)</source>
        <translation>独占集大小 (USS)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Unit</source>
        <translation>单位</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Unknown host: {host}.</source>
        <translation>没有名为 {host} 的主机。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Unless XLA_PYTHON_CLIENT_PREALLOCATE=false is set, JAX preallocates three quarters of the VRAM at startup, so a full GPU does not show how much the model needs.</source>
        <translation>除非设置 XLA_PYTHON_CLIENT_PREALLOCATE=false，JAX 一开始就占用 GPU 的四分之三：GPU 满了并不说明模型需要多少。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <source>Unless memory growth is enabled, TensorFlow allocates nearly all of the VRAM at startup, so a full GPU does not show how much the model needs.</source>
        <translation>除非打开内存增长，TensorFlow 一开始就占用几乎整个 GPU：GPU 满了并不说明模型需要多少。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Unpin</source>
        <translation>取消固定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>Unset it for non-interactive logins.</source>
        <translation>请对没有终端的登录取消该设置。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/setting_values.py"/>
        <source>Up to 30 updates a second for the chart under the pointer, and 10 for the others. With 8 runs at 10 values a second, this takes about a quarter of a CPU core.</source>
        <translation>指针在窗口中时每秒最多 30 次，否则 10 次。8 个运行、每秒 10 个值时约占一个处理器核心的四分之一。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>User</source>
        <translation>谁</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <location filename="../../kmonitor/ui/text/metrics.py"/>
        <source>VRAM</source>
        <translation>显存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>VRAM left</source>
        <translation>剩余显存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>VRAM peak</source>
        <translation>显存峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>VRAM {size}</source>
        <translation>显存 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>VRAM, all processes</source>
        <translation>显存，所有进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>VRAM, this process</source>
        <translation>显存，本进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>VRAM, total</source>
        <translation>显存总量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>Value</source>
        <translation>值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/history_table.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Verdicts</source>
        <translation>判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Versions</source>
        <translation>版本</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Waiting</source>
        <translation>等待</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Waiting for a CPU</source>
        <translation>等待处理器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Waiting for disk</source>
        <translation>等待磁盘</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>Waiting for the first reading…</source>
        <translation>等待第一个读数…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/first_start.py"/>
        <source>Waiting for the first run</source>
        <translation>等待第一个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>Waiting to retry</source>
        <translation>等待再试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>Ways to lower the peak</source>
        <translation>怎样降低峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>What may help</source>
        <translation>可尝试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/standard_charts.py"/>
        <source>What the limits of {run} would have done:</source>
        <translation>{run} 的上限本会做的事：</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <location filename="../../kmonitor/ui/hosts/audit.py"/>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>When</source>
        <translation>时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>When {when}, a checkpoint is saved after the current epoch.</source>
        <translation>当{when}时，会在当前轮次后保存检查点。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>When {when}, kmonitor collects after the current epoch.</source>
        <translation>当{when}时，kmonitor 会在当前轮次后释放滞留的内容。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>When {when}, kmonitor collects, then reloads, as needed.</source>
        <translation>当{when}时，kmonitor 会视需要依次清理、重新加载。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>When {when}, kmonitor collects, then reloads, then restarts, as needed.</source>
        <translation>当{when}时，kmonitor 会视需要依次清理、重新加载、重启。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>When {when}, kmonitor notifies you here.</source>
        <translation>当{when}时，kmonitor 会在这里告诉您。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>When {when}, kmonitor saves, clears and reloads the model after the current epoch.</source>
        <translation>当{when}时，kmonitor 会在当前轮次后保存、清空并重新加载。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>When {when}, training restarts in a new process and continues.</source>
        <translation>当{when}时，训练会在新进程中重新启动并继续。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>When {when}, training stops after the current epoch.</source>
        <translation>当{when}时，训练会在当前轮次后停止。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <source>Where the time goes</source>
        <translation>时间花在哪里</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>With children</source>
        <translation>含子进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/batch_curve.py"/>
        <source>With {size}, a batch size of {likely} fits according to the estimate, and {certain} according to its upper bound.</source>
        <translation>{size}：按估计，批大小可到 {likely}；按估计的上限可到 {certain}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/batch_curve.py"/>
        <source>With {size}, a batch size of {likely} fits according to the estimate, but none fits according to its upper bound.</source>
        <translation>{size}：按估计，批大小可到 {likely}；按其上限，一个也放不下。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <source>Workspace</source>
        <translation>工作区</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>Write a note about the purpose or result of this run</source>
        <translation>写下用途或结果</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>Writes the exact state; kmonitor restore can turn it into a .keras file later.</source>
        <translation>写入精确状态；之后可用 kmonitor restore 由它生成 .keras 文件。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>Written by</source>
        <translation>写出者</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>XLA (JAX, jit_compile)</source>
        <translation>XLA（JAX、jit_compile）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>XLA decides what to fuse: the rules were validated against its memory plans, not against an allocator, and on a CPU, XLA uses up to three times as much; measuring five steps corrects for this</source>
        <translation>XLA 自行决定融合哪些运算：规则是与它的计划对照的，而不是与分配器对照的，在 CPU 上它占用多达三倍；监看五步即可校正</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>Your key on {host} has the viewer role, and only an operator can read the audit log. The owner of the hub can change that: kmonitor authorize KEY --role operator --name NAME</source>
        <translation>您在 {host} 的密钥是查看者密钥，只有操作者可以阅读此列表。运行该 hub 的人可以更改：kmonitor authorize KEY --role operator --name NAME</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/chart_kinds.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>Zombies</source>
        <translation>僵尸进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shortcuts.py"/>
        <source>Zoom in or out</source>
        <translation>放大、缩小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>`py-spy dump --pid {pid}` on {host} shows where the process is waiting. Actions run at its next step; if it does not reach one, kill it there</source>
        <translation>在 {host} 上运行 `py-spy dump --pid {pid}` 可看到它在等待哪个调用；请求它做的事在下一个训练步进行，若一直没有，就必须在那里结束其进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>`{name}`: 1 trace (retained for a model that no longer exists), {operations} operations</source>
        <translation>`{name}`：1 个追踪（为已失效模型滞留），{operations} 个算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>`{name}`: 1 trace (retained though no longer used), {operations} operations</source>
        <translation>`{name}`：1 个追踪（不再使用但被留住），{operations} 个算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>`{name}`: 1 trace, {operations} operations</source>
        <translation>`{name}`：1 个追踪，{operations} 个算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>`{name}`: {n} traces ({dead} of them retained for models that no longer exist), {operations} operations</source>
        <translation>`{name}`：{n} 个追踪（其中 {dead} 个为已失效模型滞留），{operations} 个算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>`{name}`: {n} traces ({dead} of them retained though no longer used), {operations} operations</source>
        <translation>`{name}`：{n} 个追踪（其中 {dead} 个不再使用但被留住），{operations} 个算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>`{name}`: {n} traces, {operations} operations</source>
        <translation>`{name}`：{n} 个追踪，{operations} 个算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>a cache is filling: {n} of {capacity} results in {place}</source>
        <translation>缓存正在填充：{place} 中有 {capacity} 个结果中的 {n} 个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>a deque is filling: {n} of {capacity} objects in {place}</source>
        <translation>deque 正在填充：{place} 中有 {capacity} 个对象中的 {n} 个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>a file</source>
        <translation>一个文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>a function</source>
        <translation>某个函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>a function is recompiled for each new shape (XLA)</source>
        <translation>一个函数为每种新形状重新编译（XLA）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>a function was replaced or traced again in that {unit}</source>
        <translation>在那个{unit}中有函数被替换或重新追踪</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>a new process will start</source>
        <translation>随后会有新进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>a quarter of the steps' time</source>
        <translation>四分之一的步时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>a reload would change the result: {name} computes something different when it is traced again. A value that its Python code reads during tracing, such as an attribute or a random number, has changed. Keep that value in a framework variable</source>
        <translation>重新加载会改变结果：{name} 再次追踪后计算的内容不同。追踪时 Python 代码读取的内容已经改变，例如某个属性或随机数。改用变量可使步骤保持不变</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>a run reports its model for one size; open the model file for others</source>
        <translation>运行只告知一种尺寸的模型；其他尺寸请打开模型文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>a signal</source>
        <translation>信号</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>a third of the steps' time</source>
        <translation>三分之一的步时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>about {time} left</source>
        <translation>大约还需 {time}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>about {time} left ({low} to {high}), finishing at about {moment}</source>
        <translation>大约还需 {time}（{low} 到 {high}），约到 {moment}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>about {time} left, finishing at about {moment}</source>
        <translation>大约还需 {time}，约到 {moment}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>address space limit {amount}</source>
        <translation>地址空间上限 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>after epoch {epoch}</source>
        <translation>第 {epoch} 轮后</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>after {epochs}</source>
        <translation>共 {epochs}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>ahead of</source>
        <translation>快</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>allocator</source>
        <translation>分配器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>always pass {name} batches of the same shape, or give it an input_signature with None for the dimensions that vary</source>
        <translation>向 {name} 传入形状一致的批次，或使用含 None 的 input_signature</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>and {n} more</source>
        <translation>另有 {n} 个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>architecture only, no weights</source>
        <translation>只有架构，没有权重</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>architecture, compiled, then load_weights</source>
        <translation>架构，编译，再 load_weights</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>architecture, then load_weights</source>
        <translation>架构，再 load_weights</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>as part of Auto</source>
        <translation>“自动”的一个步骤</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>as {host}</source>
        <translation>同 {host}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>assign</source>
        <translation>assign</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>asyncio, as tasks that have not ended</source>
        <translation>asyncio（尚未结束的任务）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>at least {low}; the upper bound is unknown</source>
        <translation>至少 {low}；上限不可知</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>at the end of the epoch</source>
        <translation>轮次结束时</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>at this batch size, the peak occurs when gradients are applied, so it does not show how memory grows with the batch size; measure with a larger batch</source>
        <translation>峰值是应用梯度时的峰值，与批大小无关：请尝试更大的批</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>atexit, which calls them at the exit</source>
        <translation>atexit，退出时会调用它们</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>attributes</source>
        <translation>属性</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>authorize</source>
        <translation>授权</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <source>auto</source>
        <translation>自动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>batch size {batch}, {optimizer}, {precision}, {backend}</source>
        <translation>批大小 {batch}，{optimizer}，{precision}，{backend}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>batch size {half} instead of {whole}; this changes how the model trains</source>
        <translation>批大小 {half} 代替 {whole}；会改变训练过程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>batch size {half} with gradient_accumulation_steps={n}: gradients of {whole} examples, but batch normalization sees {seen}</source>
        <translation>批大小 {half}，gradient_accumulation_steps={n}：梯度来自 {whole} 个样本，但批归一化只看到 {seen} 个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>behind</source>
        <translation>慢</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>best for continuing training</source>
        <translation>继续训练最佳</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>best for prediction</source>
        <translation>预测最佳</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>best {value}, epoch {n}</source>
        <translation>最佳 {value}，第 {n} 轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>between epochs</source>
        <translation>两轮之间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>between epochs, from on_epoch_end of MonitorCallback to its next on_epoch_begin: in other callbacks, Keras or actions of kmonitor</source>
        <translation>各轮之间，从 MonitorCallback 的 on_epoch_end 到其下一个 on_epoch_begin：在其他回调、Keras 或 kmonitor 的操作中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>between fits or while a fit starts</source>
        <translation>两次 fit 之间或 fit 开始时</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>between fits or while a fit starts: in the script or in Keras</source>
        <translation>两次 fit 之间或 fit 开始时：在脚本或 Keras 中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>between {low} and {high}</source>
        <translation>在 {low} 与 {high} 之间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>blocks</source>
        <translation>块数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>blocks of shared memory are created and never unlinked</source>
        <translation>建立共享内存块而不删除</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>bound methods, each with its object,</source>
        <translation>绑定方法（各自保留其对象）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>build the model and optimizer once, outside the loop</source>
        <translation>在循环之外只构建一次模型和优化器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>call</source>
        <translation>次调用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>call gc.collect() less often, or call gc.freeze() once after setup</source>
        <translation>少调用 gc.collect()，或在长期对象建好后调用一次 gc.freeze()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>call kmonitor_agent.collect() after each fit</source>
        <translation>每次 fit 之后调用 kmonitor_agent.collect()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>call kmonitor_agent.collect() after each model</source>
        <translation>在每个模型之后调用 kmonitor_agent.collect()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>callbacks</source>
        <translation>回调</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>calls</source>
        <translation>次调用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>calls that wait for a worker</source>
        <translation>等待 worker 执行的调用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>cause unknown</source>
        <translation>原因未定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>cause unknown; ruled out: {what}</source>
        <translation>原因未定，已排除：{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>cgroup limit {amount}</source>
        <translation>cgroup 上限 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>cgroup: {file} less inactive_file</source>
        <translation>控制组：{file} 减去 inactive_file</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>cgroup: {file}, including file-backed pages</source>
        <translation>控制组：{file}，含文件页</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>cgroups are a Linux feature</source>
        <translation>cgroup 是 Linux 的功能</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>changed nothing</source>
        <translation>没有任何变化</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>check cooling, power limits and the CPU governor</source>
        <translation>检查散热、功率上限和调频策略</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>check on_epoch_end() of the PyDataset: Keras calls it after an epoch's last step</source>
        <translation>看看 PyDataset 的 on_epoch_end()：Keras 在一轮的最后一步之后调用它</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>check what the child process keeps: what is put into a Manager's list or dict, or sent to a process, stays until it is removed there; workers of a Pool can be replaced: maxtasksperchild</source>
        <translation>检查子进程保留了什么：放入 Manager 的列表或字典、或发送给进程的内容，在那里删除之前会一直保留；Pool 的工作进程可以更换：maxtasksperchild</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>check what the script changed there: compile(), trainable, or a new function; training more layers takes longer</source>
        <translation>检查脚本在那里改动了什么：compile()、trainable 或新的函数；训练更多的层需要更长时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>check what the script does there, such as reading or writing a whole file</source>
        <translation>看看脚本在那里做什么，例如整个读写的文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>check what train_step, layers, losses or metrics do more of, such as larger inputs, or a list that gets longer</source>
        <translation>检查 train_step、层、损失或指标多做了什么，例如输入变大，或列表越来越长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>checkpoints</source>
        <translation>检查点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>child processes are started and never end</source>
        <translation>启动的子进程不结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>child processes exited and were never reaped (zombies)</source>
        <translation>子进程已经结束，却无人等待</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>child processes of the training process are using more and more memory</source>
        <translation>训练的子进程占用越来越多</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>child processes of the training process are using more and more memory, mainly {line}</source>
        <translation>训练的子进程占用越来越多的内存，主要是 {line}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>child processes that are never reaped ({name}) may retain it</source>
        <translation>从未被回收的子进程（{name}）可能占着它</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>child processes that never end ({name}) may retain it</source>
        <translation>从不结束的子进程（{name}）可能占着它</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>children: {shares}</source>
        <translation>子进程：{shares}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>classes</source>
        <translation>类</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>classes that derive from {place} are retained</source>
        <translation>保留了派生自 {place} 的类</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>clock speed</source>
        <translation>时钟频率</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>close and unlink each shared memory block after reading it</source>
        <translation>读取之后关闭并删除每个共享内存块</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>close connections, or reuse one session</source>
        <translation>关闭连接，或只保留一个会话</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>close each figure: plt.close(figure)</source>
        <translation>关闭每个图形：plt.close(figure)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>close files after use: with open(...) as file</source>
        <translation>关闭打开的文件：with open(...) as file</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>close pipes and stop child processes: communicate(), close(), terminate(), join()</source>
        <translation>关闭管道并结束所启动的进程：communicate()、close()、terminate()、join()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/feed.py"/>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>collect</source>
        <translation>清理</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>command {name}</source>
        <translation>命令：{name}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>compile the model once, outside the loop</source>
        <translation>在循环外只编译一次模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>compile the model with jit_compile=False</source>
        <translation>用 jit_compile=False 编译模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>compiling</source>
        <translation>编译</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>compute and waiting for input</source>
        <translation>计算和等待输入</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>connected</source>
        <translation>已连接</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>connecting…</source>
        <translation>连接中…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>copy a part before you change it: batch = {place}[a:b].copy(); mode "r+" writes changes to the file instead</source>
        <translation>修改前先复制该部分：batch = {place}[a:b].copy()；模式 "r+" 会把修改写入文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>copy the data you receive from workers or, with PyTorch, call torch.multiprocessing.set_sharing_strategy('file_system')</source>
        <translation>复制工作进程交来的数据，或在 PyTorch 中使用 torch.multiprocessing.set_sharing_strategy('file_system')</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>counts {what}</source>
        <translation>统计{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>create batches in parallel: map(num_parallel_calls=AUTOTUNE), or keep them: cache() (the dataset prefetches already)</source>
        <translation>并行准备批次：map(num_parallel_calls=AUTOTUNE)，或保留批次：cache()（该数据集已经预取）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>create the dataset once, outside the loop</source>
        <translation>在循环之外只创建一次数据集</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>create the thread pool once, or shut it down: with ThreadPoolExecutor() as pool</source>
        <translation>线程池只建立一次，或将其关闭：with ThreadPoolExecutor() as pool</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>create {name} once, outside the loop</source>
        <translation>只创建一次 {name}，放在循环之外</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>created {n} times</source>
        <translation>创建了 {n} 次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>created {n} times, retained in `{name}`</source>
        <translation>创建了 {n} 次，保留在 `{name}` 中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>damaged in the hub's database</source>
        <translation>在 hub 的数据库中已损坏</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>databases in memory or their caches</source>
        <translation>内存中的数据库或其缓存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>dataset functions (from_generator, py_function) and their closures</source>
        <translation>数据集的函数（from_generator、py_function）及其引用的内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>dataset iterators</source>
        <translation>数据集的迭代器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>datasets</source>
        <translation>数据集</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>device limit {amount}</source>
        <translation>设备上限 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>diagnose</source>
        <translation>诊断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/evidence.py"/>
        <source>diagnose the next run while it is training: kmonitor command last diagnose</source>
        <translation>在下一次运行训练时诊断：kmonitor command last diagnose</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>disk full ({amount})</source>
        <translation>磁盘写满 ({amount})</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>do not keep iterators in {place}: each has buffers and threads of its own</source>
        <translation>不要在 {place} 中保留迭代器：每个迭代器都有自己的缓冲区和线程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>does not work: {why}</source>
        <translation>行不通：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>done</source>
        <translation>完成</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>done: {why}</source>
        <translation>完成：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/standard_charts.py"/>
        <source>drag to set a limit</source>
        <translation>拖动以设置上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>driver: NVML, all processes</source>
        <translation>驱动：NVML，所有进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>driver: NVML, device total</source>
        <translation>驱动：NVML，设备总量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>driver: NVML, this process</source>
        <translation>驱动：NVML，本进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>each fit has another model or batch size</source>
        <translation>每次 fit 的模型或批大小都不同</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>ended by an exception that the script caught (an error or Ctrl+C)</source>
        <translation>因脚本捕获的异常而离开（错误或 Ctrl+C）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>ended by an exception that the script caught (an error or Ctrl+C), or by sys.exit</source>
        <translation>因脚本捕获的异常（错误或 Ctrl+C）或 sys.exit 而离开</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>ended by an exception that the script caught (an error or Ctrl+C), or by sys.exit, {where}</source>
        <translation>因脚本捕获的异常（错误或 Ctrl+C）或 sys.exit 而离开，{where}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>ended by an exception that the script caught (an error or Ctrl+C), {where}</source>
        <translation>因脚本捕获的异常而离开（错误或 Ctrl+C），{where}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>epoch</source>
        <translation>轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/epoch_parts_chart.py"/>
        <location filename="../../kmonitor/ui/charts/standard_charts.py"/>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <location filename="../../kmonitor/ui/plots/axes.py"/>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>epoch {n}</source>
        <translation>第 {n} 轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>epoch {n}/{planned}</source>
        <translation>第 {n}/{planned} 轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>epochs</source>
        <translation>轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/epoch_parts_chart.py"/>
        <source>epochs {first} to {last} · {time} each</source>
        <translation>第 {first} 至 {last} 轮 · 每轮 {time}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>estimate scaled by {factor}, measured at batch size {batch}</source>
        <translation>规则按 {factor} 缩放，在批大小 {batch} 下实测</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>estimate scaled by {factor}, measured at batch size {batch} on {device}</source>
        <translation>规则按 {factor} 缩放，在 {device} 上于批大小 {batch} 下实测</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>exit status {status}</source>
        <translation>退出状态 {status}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>expired: {why}</source>
        <translation>已过期：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>exported as {file}</source>
        <translation>已导出为 {file}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>failed: {why}</source>
        <translation>失败：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>figures</source>
        <translation>图形</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>files, sockets or pipes are opened and never closed</source>
        <translation>打开文件、套接字或管道而不关闭</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>files, sockets or pipes that are never closed ({name}) may retain it</source>
        <translation>从不关闭的文件、套接字或管道（{name}）可能占着它</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>find the list, dict or attribute that keeps the {kind} objects: gc.get_referrers() of one of them shows it; keep only what you need of them</source>
        <translation>找出保留 {kind} 对象的列表、字典或属性：对其中一个调用 gc.get_referrers() 即可看到；只保留其中需要的内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>finish time not known yet</source>
        <translation>何时结束尚不知道</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>first {value}</source>
        <translation>起初 {value}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>fit</source>
        <translation>次 fit</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>fit {fit}</source>
        <translation>第 {fit} 次 fit</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>fit {fit}, after epoch {epoch}</source>
        <translation>第 {fit} 次 fit，第 {epoch} 轮之后</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>fits</source>
        <translation>次 fit</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>fold</source>
        <translation>折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>fold {n}</source>
        <translation>第 {n} 折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>folds</source>
        <translation>折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>framework allocator</source>
        <translation>框架的分配器分出的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>free memory: smaller batches or caches, fewer workers, no other programs</source>
        <translation>腾出内存：更小的批次或缓存、更少的工作进程、旁边不运行其他程序</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>free space on the disk, whichever program uses it</source>
        <translation>释放磁盘空间，不论由哪个程序占用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>freed memory retained by malloc</source>
        <translation>malloc 保留的空闲内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>from_generator() runs one call at a time: read the data with TensorFlow operations, or with a PyDataset with workers</source>
        <translation>from_generator() 每次只运行一个调用：请用 TensorFlow 运算读取数据，或用带 workers 的 PyDataset</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>from_generator() runs one call at a time: read the data with TensorFlow operations, or with a PyDataset with workers and use_multiprocessing=True</source>
        <translation>from_generator() 每次只运行一个调用：请用 TensorFlow 运算读取数据，或用带 workers 且 use_multiprocessing=True 的 PyDataset</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>frozen</source>
        <translation>已冻结</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>full at {n} objects and about {size}</source>
        <translation>达到 {n} 个对象、约 {size} 时填满</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>full garbage collections</source>
        <translation>对所有对象的垃圾回收</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>functions</source>
        <translation>函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>functions and their closures</source>
        <translation>函数及其引用的内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>functions registered with weakref.finalize</source>
        <translation>用 weakref.finalize 登记的函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>garbage collections</source>
        <translation>垃圾回收</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>garbage collections are taking longer as the number of objects grows</source>
        <translation>Python 为回收垃圾要检查的对象越来越多</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>give it a limit that fits into memory: lru_cache(maxsize=...), deque(maxlen=...)</source>
        <translation>给它一个内存放得下的上限：lru_cache(maxsize=...)、deque(maxlen=...)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>give it a maximum that fits into memory: queue.Queue(maxsize=...), deque(maxlen=...)</source>
        <translation>给它一个内存放得下的最大长度：queue.Queue(maxsize=...)、deque(maxlen=...)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>give it more CPUs, or start fewer threads and workers</source>
        <translation>给它更多处理器，或少启动线程和 worker</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>graph</source>
        <translation>计算图</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>growing</source>
        <translation>增长中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>growing, but leveling off</source>
        <translation>增长越来越慢</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>growth</source>
        <translation>增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>half of the steps' time</source>
        <translation>一半的步时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>host limit {amount}</source>
        <translation>主机上限 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>host: available memory</source>
        <translation>主机：可用内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>host: blocks in {folder}, created since the session started, that this process or its children had open at a reading; a block that was closed before counts if the run creates blocks with such names, and no other process was seen with one</source>
        <translation>主机：{folder} 中在本 session 开始后建立、且某次读取时此进程或其子进程持有的块；在此之前已关闭的块，若运行会建立这类名称的块且未见到其他进程持有这类块，则计入</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>host: total memory</source>
        <translation>主机：总内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>if that is more than you want, run {name} less often, for example, every n steps or epochs</source>
        <translation>如果这超出您的预期，请降低 {name} 的运行频率，例如每 n 步或每 n 轮运行一次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>in callbacks</source>
        <translation>回调</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>in epoch {epoch}, step {step}</source>
        <translation>第 {epoch} 轮第 {step} 步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>in epoch {n} at step {step}</source>
        <translation>在第 {n} 轮第 {step} 步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>in kmonitor</source>
        <translation>kmonitor</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>in use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>in validation</source>
        <translation>验证中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>in {time}</source>
        <translation>用时 {time}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>inputs of {size}</source>
        <translation>输入为 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>it ended after {units}</source>
        <translation>在 {units}后结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>it exited with status {status}</source>
        <translation>以退出状态 {status} 离开</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>it expired before a safe point was reached</source>
        <translation>在有效期内没有出现安全点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>it has fallen back, and may rise again</source>
        <translation>已回落，之后可能再次上升</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>it holds no more than {n} objects, but they are growing</source>
        <translation>它最多容纳 {n} 个对象，但这些对象在增大</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>it is exceeded</source>
        <translation>越过它</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>it is rising in a few jumps, as buffers do</source>
        <translation>呈少数几级阶梯上升，像缓冲区一样</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>it ran out of memory, as its output shows</source>
        <translation>因内存不足而自行放弃，如其输出所说</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>it returned, but its process did not exit within {n} s (a non-daemon thread?) and was terminated</source>
        <translation>它已返回，但其进程在 {n} s 内没有退出（是否有非守护线程？），因而被终止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>it rose earlier, but not recently</source>
        <translation>此前上升，近来没有</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>it rose only in the first epoch, while data was being read</source>
        <translation>仅在第一轮中上升，随数据读取均匀增加</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>it took longer than the {n} s that the finished folds suggest</source>
        <translation>用时超过 {n} s，即由已完成的折所推断的时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>it took longer than timeout_s={n}</source>
        <translation>用时超过 timeout_s={n}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>it waits longer for a CPU, which other processes or its own workers use</source>
        <translation>等待处理器的时间变长，处理器被其他进程或它自己的工作进程占用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>it was sent, but the training process never responded</source>
        <translation>已发送，但训练没有回应</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>it was still running when the process ended</source>
        <translation>它运行时进程结束了</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>items with {what} among what they hold</source>
        <translation>条目（其内容包括{what}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>its cgroup is being throttled more and more</source>
        <translation>其 cgroup 越来越多地被限制使用处理器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>its data ends at its job's time limit</source>
        <translation>其数据止于作业的时间上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>its exception was caught</source>
        <translation>其异常已被捕获</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>its growth is leveling off, like that of a cache</source>
        <translation>增长趋于封顶，像缓存一样</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>its growth is slowing down</source>
        <translation>增长在放缓</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>its process cannot be seen from here: it is in its own PID namespace (container)</source>
        <translation>从这里看不到其进程：它单独计进程号（容器）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>its process ended unexpectedly</source>
        <translation>其进程无声消失</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>its process ended unexpectedly; {what}</source>
        <translation>其进程无声消失；{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>its process is alive</source>
        <translation>其进程仍在运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>its process is gone, and what it left on disk is being read</source>
        <translation>其进程已不在，正在读取它留在磁盘上的内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>its process on {host} cannot be seen from here</source>
        <translation>从这里看不到它在 {host} 上的进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>its processes used more than memory={bound}</source>
        <translation>其进程占用超过 memory={bound}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>jax: compiled programs</source>
        <translation>jax：已编译程序</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>jax: instructions of all compiled programs</source>
        <translation>jax：所有已编译程序的指令</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>jit_compile</source>
        <translation>jit_compile</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>keep a copy of the part, since a view keeps the whole array: array[:10].copy(), or with PyTorch tensor[:10].clone()</source>
        <translation>保留该部分的副本，因为视图会保留整个数组：array[:10].copy()，使用 PyTorch 时为 tensor[:10].clone()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>keep fewer checkpoints: save_best_only=True, or one file name for all</source>
        <translation>少保留检查点：save_best_only=True，或只用一个文件名</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>keep float(loss), or loss.detach(), instead of the loss with its graph</source>
        <translation>保留 float(loss) 或 loss.detach()，而不是带计算图的损失</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>keep history.history instead of the History object</source>
        <translation>保留 history.history，而不是 fit 的返回值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>keep numbers, such as history.history, in {place} instead of models and History objects, which each keep a model; save models that you need to files</source>
        <translation>在 {place} 中保留数值（例如 history.history），而不是模型和 History 对象，后者各自会保留一个模型；需要的模型请保存到文件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>keep one dataset at a time, or leave out cache()</source>
        <translation>一次只保留一个数据集，或不用 cache()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>keep only numbers (float(loss), a mean), or only the most recent objects</source>
        <translation>改为保留数字（float(loss)、均值），或只保留最新的</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>keep only the numbers in history.history: arrays that callbacks put into the logs stay there</source>
        <translation>只保留 history.history 中的数值：回调写入日志的数组会一直留在其中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>keep only what you need of them, such as a number or text, or only the latest</source>
        <translation>只保留其中需要的内容，如数字或文字，或只保留最新的</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>keep the database in a file instead of :memory:, and close connections that are done</source>
        <translation>将数据库保存在文件中而不是 :memory:，并关闭用完的连接</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>keep what is the same in each epoch: cache(), or prepare it once before training (the dataset prefetches and maps in parallel already)</source>
        <translation>保留各轮都相同的内容：cache()，或在训练前一次准备好（该数据集已经预取并并行映射）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>kept after loading</source>
        <translation>加载后保留</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>killed by another process, not for lack of memory: the kernel recorded no out-of-memory kills</source>
        <translation>被某个进程杀死，而非内存不足：没有相应的计数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>killed; kmonitor cannot tell whether it ran out of memory</source>
        <translation>被杀死；此处没有计数器能说明是否因内存不足</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>kmonitor</source>
        <translation>kmonitor</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>kmonitor errors: {n}</source>
        <translation>kmonitor 出错 {n} 次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>kmonitor on {host} is newer ({theirs}) than this window ({ours}), so its new features are not shown. Install {theirs} here.</source>
        <translation>{host} 上的 kmonitor（{theirs}）比此窗口（{ours}）新：那里的新内容这里不会显示。请在这里安装 {theirs}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>kmonitor on {host} is older ({theirs}) than this window ({ours}), so newer features are missing for runs there. Install {ours} on that host.</source>
        <translation>{host} 上的 kmonitor（{theirs}）比此窗口（{ours}）旧：它不认识的内容这里会缺少。请在那里安装 {ours}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>kmonitor was not found on {host}. Tried: {what}</source>
        <translation>{host} 上没有 kmonitor。已尝试：{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>kmonitor {version} on {host} is too new to work with the version on this machine.</source>
        <translation>{host} 上的 kmonitor {version} 对这里的版本来说太新。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>kmonitor {version} on {host} is too old to work with the version on this machine.</source>
        <translation>{host} 上的 kmonitor {version} 对这里的版本来说太旧。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/workspace.py"/>
        <source>last data {time} ago</source>
        <translation>最后数据在 {time} 前</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/epoch_parts_chart.py"/>
        <source>last epoch</source>
        <translation>最后一轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/standard_charts.py"/>
        <source>last epoch: {shares}</source>
        <translation>上一轮：{shares}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>last seen {time}</source>
        <translation>上次连上 {time}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>leak suspected</source>
        <translation>疑似泄漏</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>leave out one callback or part of the script at a time, until it no longer grows</source>
        <translation>每次去掉一个回调或脚本的一个部分，直到不再增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>leave out {what}, or call gc.collect() after each {unit}</source>
        <translation>去掉 {what}，或在每个 {unit} 之后调用 gc.collect()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>left: RAM, right: VRAM</source>
        <translation>左为内存，右为显存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>limit</source>
        <translation>上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>limit in {low}–{high}</source>
        <translation>还有 {low}–{high} 到上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>limit of {amount}</source>
        <translation>上限 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>limit {amount}</source>
        <translation>上限 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>limit {metric} {amount}</source>
        <translation>{metric}上限 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>limit {place}, which is growing, if it is used there</source>
        <translation>如果那里用到正在增长的 {place}，请限制其大小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>limit {size}</source>
        <translation>上限 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_store.py"/>
        <source>limit {value}, {action}</source>
        <translation>上限 {value}，{action}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>linked {kind} objects</source>
        <translation>链接的 {kind} 对象</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>live traces</source>
        <translation>存活追踪</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>load batches in parallel: a higher num_workers of the DataLoader</source>
        <translation>并行加载批次：增大 DataLoader 的 num_workers</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>load batches in parallel: a higher num_workers of the DataLoader, with multiprocessing_context="spawn"</source>
        <translation>并行加载批次：增大 DataLoader 的 num_workers，并用 multiprocessing_context="spawn"</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>load batches in parallel: a tf.data.Dataset or a PyDataset with workers instead of the generator</source>
        <translation>并行加载批次：不用生成器，改用 tf.data.Dataset 或带 workers 的 PyDataset</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>load batches in parallel: more workers of the PyDataset</source>
        <translation>并行加载批次：增加 PyDataset 的 workers</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>load batches in parallel: more workers of the PyDataset, with use_multiprocessing=True if Python code is what takes the time</source>
        <translation>并行加载批次：增加 PyDataset 的 workers；若耗时的是 Python 代码，则用 use_multiprocessing=True</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>log axis</source>
        <translation>对数轴</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>look at {line}: find the list, dict or attribute that keeps what is created there</source>
        <translation>查看 {line}：找出保留那里所创建内容的列表、字典或属性</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>major page faults</source>
        <translation>从磁盘取回的页</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>malloc retains freed memory for reuse: {size} in {n} arenas, at most {largest} in one</source>
        <translation>malloc 保留了已归还的内存以供再用：{n} 个分配区共 {size}，每个最多 {largest}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>malloc retains freed memory: a cache, or fragmentation</source>
        <translation>malloc 保留了已归还的内存：缓存或碎片</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>may be garbage that Python has not collected so far; Collect shows it</source>
        <translation>也许只是 Python 还没有回收的垃圾；执行“清理”即可看出</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>mean over the epoch</source>
        <translation>该轮的平均值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>mean over the epoch so far</source>
        <translation>本轮至今的平均值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>mean step time over a whole epoch, from the start of the first step to the result of the last, because steps were queued faster than the device computed them</source>
        <translation>步时钟，从首步开始到最后的结果：整轮的平均值，这些步早于计算它们的设备被交付</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/standard_charts.py"/>
        <source>mean {mean} · p99 {most} · max {longest}</source>
        <translation>平均 {mean} · p99 {most} · 最长 {longest}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>mean {mean}; the device runs asynchronously, so individual steps are not timed</source>
        <translation>平均 {mean}；设备异步运行，因此没有单步的时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>mean ± standard deviation of {metric} over the {n} finished folds</source>
        <translation>{metric} 的均值 ± 标准差，已完成的 {n} 折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>mean ± standard deviation of {metric} over the {n} finished trials</source>
        <translation>{metric} 的均值 ± 标准差，已完成的 {n} 次试验</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>mean ± standard deviation of {metric} over {n} folds, each at its last epoch</source>
        <translation>{metric} 的均值 ± 标准差，{n} 折的最后一轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>mean ± standard deviation of {metric} over {n} trials, each at its last epoch</source>
        <translation>{metric} 的均值 ± 标准差，{n} 次试验的最后一轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>measured</source>
        <translation>实测</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>measured at batch sizes {sizes}</source>
        <translation>在批大小 {sizes} 下实测</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>measured at batch sizes {sizes} on {device}</source>
        <translation>在 {device} 上于批大小 {sizes} 下实测</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>measured between steps; weights {weights}, optimizer {slots}, data and other memory</source>
        <translation>在步与步之间实测：权重 {weights}、优化器 {slots}，以及数据等其他内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>measuring</source>
        <translation>测量中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>median over the epoch</source>
        <translation>本轮中位数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>median {median}, mean {mean}, p95 {most}, p99 {nearly_all}, max {longest}</source>
        <translation>中位数 {median}，平均 {mean}，p95 {most}，p99 {nearly_all}，最大 {longest}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>memory allocated by Python</source>
        <translation>Python 分配的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>memory allocated by Python is not freed; most of it was allocated at {line}</source>
        <translation>Python 分配的内存没有释放，大部分在 {line} 分配</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>memory allocated with malloc</source>
        <translation>malloc 分出的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>memory allocated with malloc, by arrays, long texts or bytes, or native code; kmonitor has not found what retains it</source>
        <translation>由数组、长文本或字节对象，或原生代码用 malloc 分配的内存；kmonitor 没有找到保留它的地方</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>memory limit {size}</source>
        <translation>内存最多 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>memory limited by the host</source>
        <translation>内存只受主机限制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>memory of child processes</source>
        <translation>子进程的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>memory pressure</source>
        <translation>内存压力</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>memory pressure: pages are being read back from disk, and tasks are waiting</source>
        <translation>内存不足：要从磁盘取回页，任务在等待</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <source>min</source>
        <translation>min</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/standard_charts.py"/>
        <location filename="../../kmonitor/ui/plots/axes.py"/>
        <source>model {n}</source>
        <translation>第 {n} 个模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>models</source>
        <translation>模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>models or optimizers are being built again and again</source>
        <translation>模型或优化器被反复新建</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>models, optimizers or train functions are built repeatedly, and something keeps them alive</source>
        <translation>模型、优化器或训练函数被反复构建，且有东西持有它们</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>more time is spent {where}</source>
        <translation>{where}用时更长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>most new memory: {place} ({size})</source>
        <translation>新增最多的内存：{place}（{size}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>most new objects: {kind} ({n})</source>
        <translation>新增最多的对象：{kind}（{n}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>most of it at once</source>
        <translation>大部分是一次性变化</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>most of it is spent starting the data iterator in each epoch: use dataset.repeat() with steps_per_epoch</source>
        <translation>其中大部分用于在每轮启动数据迭代器：请用 dataset.repeat() 并设 steps_per_epoch</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>most of it is spent starting the workers in each epoch: use a DataLoader with persistent_workers=True</source>
        <translation>其中大部分用于在每轮启动 worker：请用 persistent_workers=True 的 DataLoader</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>native code retains memory allocated with malloc; Python code does not</source>
        <translation>原生代码滞留用 malloc 取得的内存，Python 代码行没有</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>never connected</source>
        <translation>从未在此连上</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>next verdict in about {time}</source>
        <translation>约 {time} 后会知道更多</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>no</source>
        <translation>否</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no GPU is visible to this process (CUDA_VISIBLE_DEVICES)</source>
        <translation>此进程看不到 GPU (CUDA_VISIBLE_DEVICES)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no NVIDIA driver on this host</source>
        <translation>此主机没有 NVIDIA 驱动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>no Python code retained newly allocated memory</source>
        <translation>没有代码行保留新的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no batch size has been measured over {n} or more steps</source>
        <translation>没有任何批大小实测满 {n} 步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no cgroup limits this process</source>
        <translation>没有 cgroup 限制此进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no cgroup limits this process's memory</source>
        <translation>没有 cgroup 限制此进程的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/epoch_parts_chart.py"/>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <location filename="../../kmonitor/ui/charts/standard_charts.py"/>
        <location filename="../../kmonitor/ui/compare/comparison.py"/>
        <source>no data</source>
        <translation>无数据</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no data for {time}; {what}</source>
        <translation>{time} 没有数据；{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>no longer growing</source>
        <translation>不再增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>no longer slowing down</source>
        <translation>不再变慢</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>no method works</source>
        <translation>没有可行的方式</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>no optimizer</source>
        <translation>没有优化器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>no other metric grew along with it</source>
        <translation>已统计的内容都没有随之增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>no reason was given</source>
        <translation>未说明原因</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <source>no rule covers it: assumed</source>
        <translation>没有规则覆盖：按假定计算</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>no runs</source>
        <translation>无运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no step for {n} s after a fit; the longest pause before that was {longest} s</source>
        <translation>fit 之后 {n} s 没有训练步，该处最长的停顿为 {longest} s</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no step for {n} s at its start; the longest pause before that was {longest} s</source>
        <translation>开始时 {n} s 没有训练步，该处最长的停顿为 {longest} s</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no step for {n} s between epochs; the longest pause before that was {longest} s</source>
        <translation>轮与轮之间 {n} s 没有训练步，该处最长的停顿为 {longest} s</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no step for {n} s within an epoch; the longest pause before that was {longest} s</source>
        <translation>一轮之内 {n} s 没有训练步，该处最长的停顿为 {longest} s</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>no step was run</source>
        <translation>未运行任何步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>no time limit</source>
        <translation>时间不限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no weights</source>
        <translation>没有权重</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>no weights, no saved activations</source>
        <translation>没有权重，不保存激活值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <source>no weights; its activations are unknown</source>
        <translation>没有权重；保留多少不可知</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>no, or not recorded in the file</source>
        <translation>否，或者文件没有说明</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>none</source>
        <translation>0</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>none in the file</source>
        <translation>文件中没有</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>none: no method restores the optimizer's state</source>
        <translation>无：没有方式能恢复优化器状态</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>not connected yet</source>
        <translation>尚未连接</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>not judged</source>
        <translation>未判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>not known</source>
        <translation>未知</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>not read yet</source>
        <translation>尚未读取</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>not reported by this run</source>
        <translation>此运行未告知</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>not specified</source>
        <translation>未指定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>not used</source>
        <translation>未使用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>note</source>
        <translation>备注</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>nothing</source>
        <translation>无</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>nothing grew since the last one</source>
        <translation>与上一次相比没有增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>nothing has been counted yet</source>
        <translation>尚未统计</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>nothing to release</source>
        <translation>没有可释放的内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>nothing was released: the graph still has {n} operations</source>
        <translation>未释放任何内容：计算图仍有 {n} 个算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>nothing was retained</source>
        <translation>没有滞留的内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <source>notify</source>
        <translation>仅提醒</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>now</source>
        <translation>现在</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>number of retained objects</source>
        <translation>所保留对象的数量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>number of them</source>
        <translation>其数量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>numbers</source>
        <translation>数字</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>nvidia-ml-py is not installed</source>
        <translation>未安装 nvidia-ml-py</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>objects</source>
        <translation>对象</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>of what Python allocates in an epoch and still holds at its end, most is from {line}, and older memory is freed; memory allocated with malloc grows, and kmonitor has not found what retains it</source>
        <translation>Python 在一轮中分配并在轮末仍占用的内存，大部分来自 {line}，而较早的内存被释放；用 malloc 分配的内存在增长，kmonitor 没有找到保留它的地方</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <location filename="../../kmonitor/ui/runs/readings.py"/>
        <source>of {amount}</source>
        <translation>共 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>offline for {time}</source>
        <translation>离线 {time}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>on checkpoints</source>
        <translation>检查点</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>on compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>on compute and waiting for input</source>
        <translation>计算和等待输入</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>on other work</source>
        <translation>其他工作</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>on validation</source>
        <translation>验证</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>on {time}, the database was found to be damaged and was renamed to {file}; everything readable was recovered, and the affected runs show what is missing. Remove that file to clear this message</source>
        <translation>数据库于 {time} 发现已损坏，并改名为 {file}；其中能读取的内容均已恢复，缺失的部分在受影响的运行中已标明。删除该文件后便不再提示</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/dry_run.py"/>
        <source>once</source>
        <translation>1 次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>only one batch size was measured; a second one is needed</source>
        <translation>只实测了一个批大小；再有一个就能得出规律</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>only while loading</source>
        <translation>仅在加载时</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>operations in live traces</source>
        <translation>存活追踪中的算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>operations in the graph of a PyTorch tensor</source>
        <translation>PyTorch 张量计算图中的运算</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>operator</source>
        <translation>操作者</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>optimizer present</source>
        <translation>有优化器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>optimizer reset: its state is lost</source>
        <translation>优化器是全新的：其状态已丢失</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>other</source>
        <translation>其他</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>other readings</source>
        <translation>其他读数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>out of memory</source>
        <translation>内存不足</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>out of memory after about {n} more fit ({low} to {high})</source>
        <translation>大约再进行 {n} 次 fit（{low} 到 {high}）后内存耗尽</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>out of memory after about {n} more fits ({low} to {high})</source>
        <translation>大约再进行 {n} 次 fit（{low} 到 {high}）后内存耗尽</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>out of memory after {n} more fits at the earliest</source>
        <translation>最早再进行 {n} 次 fit 后内存耗尽</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>out of memory with the next fit</source>
        <translation>再进行一次 fit 内存就会耗尽</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>out of memory: the kernel killed a process on this host (oom_kill)</source>
        <translation>内存不足：此主机内存不足，被内核杀死 (oom_kill)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>out of memory: the kernel killed it ({how}: oom_kill)</source>
        <translation>内存不足：被内核杀死（{how}：oom_kill）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <source>over the last {n} epochs</source>
        <translation>最近 {n} 轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <source>over the last {n} s</source>
        <translation>最近 {n} s</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>pad batches to a few shapes, or bucket them by length</source>
        <translation>把批次填充为少数几种形状，或按长度分桶</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>pages of {place} that were written to are copies of those of {file} (a memory map opened copy-on-write)</source>
        <translation>{place} 中写入过的页是 {file} 相应页的副本（以写时复制方式打开的内存映射）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>part of Auto</source>
        <translation>“自动”的一个步骤</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>pass tensors instead of Python numbers to {name}, and the same Python objects each time</source>
        <translation>向 {name} 传入张量而不是 Python 数字，并且每次传入相同的 Python 对象</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>peak {peak}, kept {kept}, {seconds}</source>
        <translation>峰值 {peak}，保留 {kept}，{seconds}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>pid {pid}</source>
        <translation>进程 {pid}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>pin</source>
        <translation>固定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>plus {amount} of file-backed pages, which the kernel can reclaim</source>
        <translation>另有 {amount} 文件页，需要时归还</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>prefetch batches: dataset.prefetch() (the dataset maps in parallel already)</source>
        <translation>预取批次：dataset.prefetch()（该数据集已经并行映射）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>prefetch batches: dataset.prefetch(), map(num_parallel_calls=AUTOTUNE) or cache()</source>
        <translation>提前准备批次：dataset.prefetch()、map(num_parallel_calls=AUTOTUNE) 或 cache()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>prefetch batches: dataset.prefetch(), map(num_parallel_calls=AUTOTUNE), cache(), or workers of a PyDataset</source>
        <translation>提前准备批次：dataset.prefetch()、map(num_parallel_calls=AUTOTUNE)、cache()，或 PyDataset 的 worker</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/feed.py"/>
        <source>preview: 1 in {n} samples so far</source>
        <translation>轮廓：目前每 {n} 个样本取 1 个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>private bytes (psutil)</source>
        <translation>专用字节 (psutil)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>process and children</source>
        <translation>进程及其子进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>process and children: Pss_File (smaps_rollup)</source>
        <translation>进程及子进程：Pss_File (smaps_rollup)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>process: peak working set</source>
        <translation>进程：峰值工作集</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>process: private bytes (psutil)</source>
        <translation>进程：专用字节 (psutil)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>process: resident set size (RSS, psutil)</source>
        <translation>进程：常驻内存 (RSS, psutil)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>process: unique set size (USS, psutil)</source>
        <translation>进程：独占内存 (USS, psutil)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>process: unique set size (USS, psutil), extrapolated from the resident set size (RSS) between readings</source>
        <translation>进程：独占内存 (USS, psutil)，其间加上常驻内存 (RSS) 的增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>process: {file}</source>
        <translation>进程：{file}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>process: {file}; children: {shares}</source>
        <translation>进程：{file}；子进程：{shares}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>proportional set sizes (PSS, smaps_rollup), up to {age} old, plus what each process has allocated since</source>
        <translation>按比例分摊的内存 (PSS, smaps_rollup)，最多 {age} 前读取，加上此后各自的增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>pyplot, which retains each figure that is not closed</source>
        <translation>pyplot（它保留每个未关闭的图形）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>ram</source>
        <translation>内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>rank {n}</source>
        <translation>rank {n}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>rank {n}: {state}</source>
        <translation>rank {n}：{state}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <source>rate available in {epochs}</source>
        <translation>{epochs}后给出速率</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>reap child processes that have exited: wait() or join()</source>
        <translation>等待已经结束的子进程：wait() 或 join()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>rebuild</source>
        <translation>rebuild</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>recreate</source>
        <translation>recreate</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>refused</source>
        <translation>被拒绝</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>refused: {why}</source>
        <translation>被拒绝：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>regions of compiled code</source>
        <translation>编译代码的区域</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>register each class or function once, outside the loop, or remove it: keras.saving.get_custom_objects().pop(name)</source>
        <translation>每个类或函数只在循环外注册一次，或将其移除：keras.saving.get_custom_objects().pop(name)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>register one function, outside the loop, which handles the newest object, or remove one by atexit.unregister(function)</source>
        <translation>在循环外只注册一个处理最新对象的函数，或用 atexit.unregister(function) 移除</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>registered functions</source>
        <translation>已注册的函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>release the frames of the last error: sys.last_value = sys.last_traceback = None</source>
        <translation>出错后释放其栈帧：sys.last_value = sys.last_traceback = None</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>released {what}</source>
        <translation>已释放 {what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/feed.py"/>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>reload</source>
        <translation>重新加载</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>remove each from {place} when its object is no longer needed (unsubscribe), or keep weakref.WeakMethod(method) there</source>
        <translation>不再需要其对象时，把它从 {place} 中移除（取消订阅），或在那里保留 weakref.WeakMethod(method)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>rename</source>
        <translation>重命名</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>requested by {name}</source>
        <translation>应 {name} 的请求</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>requested by {who}</source>
        <translation>由 {who} 请求</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>resident set sizes (RSS, psutil)</source>
        <translation>常驻内存 (RSS, psutil)</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/feed.py"/>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>restart</source>
        <translation>重启</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>restarting in a new process</source>
        <translation>正在新进程中重启</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>retained objects</source>
        <translation>所保留的内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>revoke</source>
        <translation>撤销</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>rises too unevenly to judge</source>
        <translation>上升过于不均匀，无法判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>rises too unevenly to judge so far</source>
        <translation>目前上升过于不均匀，无法判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>rising</source>
        <translation>上升</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>rising, not judged</source>
        <translation>上升，未判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>rising, not yet judged</source>
        <translation>上升，尚未判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>role {role}</source>
        <translation>角色：{role}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>role {role} (was {name}, {before})</source>
        <translation>角色：{role}，之前为 {name}，{before}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>rules for each layer class</source>
        <translation>各类层的规则</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>rules for each layer class; nothing was run</source>
        <translation>每类层的规则；未运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>run %reset -f out, and end cells with a semicolon</source>
        <translation>运行 %reset -f out，单元格末行不要是数组，或以分号结尾</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>run {name} less often, for example, every n steps or epochs</source>
        <translation>降低 {name} 的运行频率，例如每 n 步或每 n 轮运行一次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>s</source>
        <translation>s</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/feed.py"/>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>save</source>
        <translation>保存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>save each figure, then remove it from {place}: plt.close(figure) does not free what is kept there</source>
        <translation>保存每个图形后将其从 {place} 中移除：plt.close(figure) 不会释放保留在其中的图形</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>save less often, and if {place} is saved too, which is growing, limit it</source>
        <translation>降低保存频率；如果也保存了正在增长的 {place}，请限制其大小</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>save less often, keep fewer files, or save only the weights if whole models are saved</source>
        <translation>降低保存频率，少留文件；如果保存的是整个模型，也可只保存权重</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>save less often, or keep fewer files if their number grows</source>
        <translation>降低保存频率；如果文件越来越多，请少留一些</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>save less often, or save only the weights if whole models are saved</source>
        <translation>降低保存频率；如果保存的是整个模型，也可只保存权重</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>script</source>
        <translation>脚本</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>sequences of {size}</source>
        <translation>序列长度为 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>set_limits</source>
        <translation>设置上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>shared memory</source>
        <translation>共享内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>since {time} · key {key}…</source>
        <translation>自 {time} 起 · 密钥 {key}…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>slower since {unit} {n}</source>
        <translation>从第 {n} 个{unit}起变慢</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>slower, but leveling off</source>
        <translation>变慢，但越来越少</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>slowing down</source>
        <translation>变慢</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>small blocks allocated by Python</source>
        <translation>Python 分出的小内存块</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>smoothed {weight}</source>
        <translation>平滑 {weight}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/device_split.py"/>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>source unknown</source>
        <translation>未告知其来源</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>ssh is not installed on this machine.</source>
        <translation>本机没有 ssh。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>start a call only while few wait: semaphore.acquire() before {place}.submit(), and semaphore.release() when it is done</source>
        <translation>仅在等待的调用较少时才提交新调用：在 {place}.submit() 之前 semaphore.acquire()，完成后 semaphore.release()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>start fewer workers, or new ones for each epoch (a Pool: maxtasksperchild)</source>
        <translation>启动较少的工作进程，或在每个轮次启动新的（Pool：maxtasksperchild）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>start the script with MALLOC_ARENA_MAX=2, or with jemalloc</source>
        <translation>用 MALLOC_ARENA_MAX=2 或 jemalloc 启动脚本</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>start to start</source>
        <translation>从一步开始到下一步开始</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>started {when}</source>
        <translation>开始于 {when}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>state {size}</source>
        <translation>状态 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/rates.py"/>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>steady</source>
        <translation>平稳</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>step</source>
        <translation>步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>step clock, start to start: the median over a whole epoch; for samples, and until the first epoch ends, the median over the current epoch so far</source>
        <translation>步时钟，从一步开始到下一步开始：整轮的中位数；在样本中以及首轮结束前，为当前轮到目前为止的中位数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>steps</source>
        <translation>步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>steps are running again after {n} s without a step</source>
        <translation>{n} s 没有训练步之后，又有训练步了</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>still held: {what}</source>
        <translation>仍被持有：{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>still running when the study ended</source>
        <translation>运行中研究结束了</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/feed.py"/>
        <location filename="../../kmonitor/ui/limits/limit_text.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>tensorflow: live traces</source>
        <translation>tensorflow：存活追踪</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>tensorflow: operations of the v1 default graph</source>
        <translation>tensorflow：v1 默认计算图的算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>tensorflow: registered functions</source>
        <translation>tensorflow：已注册函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>tensorflow: registered functions and gradient registry</source>
        <translation>tensorflow：已注册函数和梯度注册表</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>tensors are retained: the framework's allocator is growing</source>
        <translation>张量被滞留：框架的分配器分出的内存越来越多</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>tensors of 256 KiB or more</source>
        <translation>256 KiB 及以上的张量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the CPU allocator does not count tensors below 256 KiB: it saw {took} of the {whole} that a step at batch size {batch} should need; a larger batch shows more</source>
        <translation>CPU 分配器不计 256 KiB 以下的张量：按估算，批大小为 {batch} 的一步需要 {whole}，它只看到了 {took}；批次更大时能看到更多</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the CPU allocator does not count tensors below 256 KiB: the estimate adds them</source>
        <translation>CPU 分配器不计 256 KiB 以下的张量：这部分按估算补上</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the CPU device's allocator has no limit</source>
        <translation>CPU 设备的分配器没有上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>the CPU is running at a lower clock speed</source>
        <translation>处理器时钟变慢</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>the callback</source>
        <translation>该回调</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>the change is small, or within the noise</source>
        <translation>变化很小，或未超出波动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the checkpoint could not be written: {why}</source>
        <translation>无法写入检查点：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the connection ended</source>
        <translation>连接已断开</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the database in {folder} cannot be written to ({why})</source>
        <translation>{folder} 中的数据库无法写入（{why}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>the dataset cache is filling up: {steps} of {of_steps} steps</source>
        <translation>数据集的缓存正在填充：{of_steps} 步中的 {steps} 步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>the device</source>
        <translation>该设备</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>the disk is filling up; its space is used by all programs</source>
        <translation>磁盘快满了；其空间由所有程序使用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the disk that holds {folder} is full; free some space</source>
        <translation>{folder} 所在的磁盘已满；请在那里腾出空间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the driver reports no per-process memory: {why}</source>
        <translation>驱动不报告各进程的显存：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the fit it was meant for had already ended</source>
        <translation>它所针对的 fit 已经结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>the fit will end before the limit is reached</source>
        <translation>fit 会在达到上限前结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>the frames of the last error (sys.last_traceback)</source>
        <translation>最近一次错误的栈帧（sys.last_traceback）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the framework may run loop iterations of recurrent layers ahead of time and keep the tensors of all of them in memory; the rules for these layers were not validated against an allocator</source>
        <translation>循环层同时保留的步数取决于框架超前多少步：它们的规则未与分配器对照过</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>the framework's allocator does not see this model's tensors</source>
        <translation>框架的分配器看不到该模型的任何张量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>the framework's allocator on {device}, first {n} steps</source>
        <translation>{device} 上框架的分配器，前 {n} 步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>the function</source>
        <translation>该函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the hub is disabled here: KMONITOR_HUB=off is set.</source>
        <translation>hub 在此处已关闭：设置了 KMONITOR_HUB=off。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the hub stopped responding</source>
        <translation>hub 停止回应</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the hub was restarted with another database</source>
        <translation>hub 已用另一个数据库重新启动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the kernel killed a process in its cgroup at that time because memory ran out ({how}: oom_kill)</source>
        <translation>当时内核因内存不足在其控制组中结束了进程（{how}: oom_kill）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the kernel killed a process on this host at that time because memory ran out</source>
        <translation>当时内核因内存不足在此主机上结束了进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the kernel killed it when it reached memory={bound}</source>
        <translation>内核在 memory={bound} 处终止了它</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the kernel killed one of its processes when they reached memory={bound}</source>
        <translation>内核在 memory={bound} 处终止了它的一个进程</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the kernel recorded no out-of-memory kills</source>
        <translation>内核没有计到因内存不足的终止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the last fit ended early</source>
        <translation>最后一次 fit 提前结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the last fit ended early: {why}</source>
        <translation>最后一次 fit 提前结束：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the last fit failed</source>
        <translation>最后一次 fit 失败</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the last fit failed: {why}</source>
        <translation>最后一次 fit 失败：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the last fit was interrupted</source>
        <translation>最后一次 fit 被中断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the last fit was interrupted: {why}</source>
        <translation>最后一次 fit 被中断：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the limit was exceeded again within its cooldown</source>
        <translation>距上次执行不到冷却时间，而限制又被越过</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the loop continues: it ignores model.stop_training, which was set to True</source>
        <translation>循环仍在继续：它不检查已设为 True 的 model.stop_training</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/map_estimator.py"/>
        <source>the measurements are from a different training run</source>
        <translation>实测来自另一次训练运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the model is not compiled: no optimizer and no gradients are counted</source>
        <translation>模型未编译：不计优化器和梯度</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>the number of steps changes; only epochs with the same number are compared</source>
        <translation>步数在变；只比较步数相同的轮次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>the number of steps changes; only fits with the same number are compared</source>
        <translation>步数在变；只比较步数相同的 fit</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>the number of traces of {name} is growing</source>
        <translation>{name} 的追踪越来越多</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the optimizer state of {name} is unknown: Adam's is assumed</source>
        <translation>不知道 {name} 的槽：按 Adam 计算</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the optimizer {name} ({n} variables) is not part of the model: not saved</source>
        <translation>优化器 {name}（{n} 个变量）不属于模型：未保存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the process was restarted before it responded</source>
        <translation>进程在回应前已重启</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the rules for 16-bit precision were validated only on CPUs, whose convolutions use 32-bit copies; measuring five steps corrects for this</source>
        <translation>16 位精度只在 CPU 上对照过，那里的卷积使用 32 位的副本：监看五步即可校正</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the rules for PyTorch were not validated against an allocator; measuring five steps on a GPU corrects for this</source>
        <translation>PyTorch 的规则未与分配器对照过；在 GPU 上监看五步即可校正</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>the run does not report the length of its sequences</source>
        <translation>该运行没有告知其序列有多长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the run has ended</source>
        <translation>运行已结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>the run has not reported its model</source>
        <translation>此运行尚未告知其模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the run is lost: {why}</source>
        <translation>运行失联：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the run reported its layers and weights, but not how the layers are connected</source>
        <translation>此运行告知了层和权重，没有告知各层如何连接</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>the script</source>
        <translation>脚本</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>the script retains more and more objects</source>
        <translation>脚本保留的内容越来越多</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the spool {path} cannot be read or removed ({why}): the data stays there until that is fixed</source>
        <translation>spool {path} 无法读取或释放（{why}）：在可以之前，其中的内容留在那里</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the state of PyTorch's optimizer {name} is not saved</source>
        <translation>PyTorch 优化器 {name} 的状态未保存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the study was interrupted</source>
        <translation>研究被中断</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the training process could not be reached in time</source>
        <translation>未能及时联系到训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the training process ended before it responded</source>
        <translation>训练在回应前已结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>the training process has ended</source>
        <translation>训练进程已不存在</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>the training process itself takes more CPU time</source>
        <translation>训练进程自身占用的处理器时间增加</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <source>the whole model</source>
        <translation>整个模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>there are more and more {kind} objects; kmonitor has not found what retains them</source>
        <translation>{kind} 对象越来越多；kmonitor 没有找到保留它们的地方</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>there is no lasting trend</source>
        <translation>没有持续的趋势</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>there was nothing to release</source>
        <translation>没有可释放的内容</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>this explains {part} of the growth</source>
        <translation>这解释了增长的 {part}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>this first diagnosis is the baseline: run another one to compare</source>
        <translation>第一次诊断供之后比较：请再做一次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>this host had only {left} of memory left, and the fold was using the most ({held})</source>
        <translation>此主机仅剩 {left}，而该折占用最多：{held}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>this host had only {left} of memory left, and the trial was using the most ({held})</source>
        <translation>此主机仅剩 {left}，而该次试验占用最多：{held}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>this hub has no such run</source>
        <translation>此 hub 没有这个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/workspace.py"/>
        <source>this machine</source>
        <translation>本机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/subjects.py"/>
        <source>this model accepts no others, or Keras is not installed</source>
        <translation>此模型不接受其他尺寸，或这里没有 Keras 可供尝试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>this run does not accept commands: it was started with commands=False</source>
        <translation>此运行不接受命令：它以 commands=False 启动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>this system does not report file-backed pages</source>
        <translation>此系统不单独给出文件页</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>threads are started and never end</source>
        <translation>启动的线程不结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/counted_text.py"/>
        <source>threads that never end ({name}) may retain it</source>
        <translation>从不结束的线程（{name}）可能占着它</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>three quarters of the steps' time</source>
        <translation>四分之三的步时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>throttling</source>
        <translation>限流</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>time limit ({limit})</source>
        <translation>时间上限（{limit}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>time limit learned from the finished folds</source>
        <translation>时间限制由已完成的折得出</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>time limit {time}</source>
        <translation>时间最多 {time}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>too short to judge</source>
        <translation>太短，无法判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>took {time}</source>
        <translation>用时 {time}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>torch.compile: calls captured since the start or the last reload</source>
        <translation>torch.compile：自启动或上次重新加载以来捕获的调用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>torch.compile: graphs captured since the start or the last reload</source>
        <translation>torch.compile：自启动或上次重新加载以来捕获的计算图</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>traces</source>
        <translation>追踪</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>traces cannot be counted: {why}</source>
        <translation>无法统计追踪：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>traces of models that no longer exist</source>
        <translation>已失效模型的追踪</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>traces of models that no longer exist are retained</source>
        <translation>已失效模型的追踪被滞留</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>traces that are no longer used</source>
        <translation>不再使用的追踪</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>traces that are no longer used, as of a model that was compiled again, are retained</source>
        <translation>不再使用的追踪（例如模型被重新编译之后）被留住</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>train each model in its own process: kmonitor_agent.run_folds()</source>
        <translation>在各自的进程中训练每个模型：kmonitor_agent.run_folds()</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>training</source>
        <translation>训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>training can resume exactly where it left off</source>
        <translation>可以从中断处原样继续训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>training cannot resume exactly where it left off</source>
        <translation>不能从中断处原样继续训练</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>training is already paused</source>
        <translation>训练已暂停</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>training is not paused</source>
        <translation>训练未暂停</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>training waited {time}</source>
        <translation>训练等待了 {time}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>trial {n}</source>
        <translation>试验 {n}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/subjects.py"/>
        <source>trying others in a separate process…</source>
        <translation>正在独立的进程中尝试其他尺寸…</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>two thirds of the steps' time</source>
        <translation>三分之二的步时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>unchanged</source>
        <translation>未变</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>unknown</source>
        <translation>未知</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>unknown error</source>
        <translation>未知错误</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>unknown: {why}</source>
        <translation>未知：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>unpin</source>
        <translation>取消固定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>unreachable</source>
        <translation>无法访问</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>used plus free space in {folder}</source>
        <translation>{folder} 中已用加空闲的空间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>used {n} times, weights counted once</source>
        <translation>使用 {n} 次，权重只计一次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>val {best}</source>
        <translation>验证 {best}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>validate less often (validation_freq), or on fewer batches (validation_steps)</source>
        <translation>少验证几次（validation_freq），或用更少的批（validation_steps）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>validation</source>
        <translation>验证</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>validation {value}</source>
        <translation>验证 {value}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/chart_file.py"/>
        <source>validation, dashed</source>
        <translation>虚线：验证</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/chart_file.py"/>
        <source>validation, dotted</source>
        <translation>点线：验证</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>values that the loop keeps in its own arrays instead of in the model's variables are not saved</source>
        <translation>循环自己用数组保存、不在模型变量中的值未保存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>varies too much to judge</source>
        <translation>波动太大，无法判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>varies too much to judge so far</source>
        <translation>目前波动太大，无法判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>viewer</source>
        <translation>查看者</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>vram</source>
        <translation>显存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>waiting for a CPU</source>
        <translation>等待处理器</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/epoch_parts.py"/>
        <source>waiting for input</source>
        <translation>等待输入</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>weights counted under {layers}</source>
        <translation>权重计在 {layers}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/run_subject.py"/>
        <source>weights {weights} and optimizer {slots}, from the model's variables</source>
        <translation>权重 {weights}，优化器 {slots}，来自模型的变量</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>without a fit</source>
        <translation>没有 fit</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>yes</source>
        <translation>是</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>{actions} and {last}</source>
        <translation>{actions}和{last}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>{actions} did not help</source>
        <translation>{actions}没有帮助</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/feed.py"/>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>{action} failed</source>
        <translation>{action}失败</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>{action} freed {given}</source>
        <translation>{action}归还了 {given}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>{action} freed {given} of {risen}</source>
        <translation>{action}归还了 {given}（此前增加了 {risen}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>{action} is next</source>
        <translation>接下来：{action}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/hosts.py"/>
        <source>{address}: hub on {host}, process {pid}, version {version}</source>
        <translation>{address}：{host} 上的 hub，进程 {pid}，版本 {version}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{allocator} allocator, {device}</source>
        <translation>{allocator} 分配器，{device}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{allocator} allocator, {device} in use</source>
        <translation>{allocator} 分配器，{device} 使用中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{allocator} allocator, {device} in use ({sees})</source>
        <translation>{allocator} 分配器，{device} 使用中（{sees}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{allocator} allocator, {device} limit</source>
        <translation>{allocator} 分配器，{device} 上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{allocator} allocator, {device} peak</source>
        <translation>{allocator} 分配器，{device} 峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{allocator} allocator, {device} peak ({sees})</source>
        <translation>{allocator} 分配器，{device} 峰值（{sees}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>{amount} available</source>
        <translation>可得 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/cards.py"/>
        <source>{amount} still available</source>
        <translation>还可得 {amount}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>{done} fits have ended; this one is training {model}</source>
        <translation>已结束 {done} 次 fit，本次训练 {model}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/load_cost.py"/>
        <source>{done} of {total} processes have finished</source>
        <translation>{total} 个进程中已结束 {done} 个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>{epochs} completed across all fits</source>
        <translation>所有 fit 共完成 {epochs}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{file} cannot be read ({why}): all history is kept until a new limit is set ({line})</source>
        <translation>{file} 无法读取（{why}）：在重新设置之前保留全部历史（{line}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{file} cannot be read ({why}): the previous setting applies until a new one is set ({line})</source>
        <translation>{file} 无法读取（{why}）：在重新设置之前按先前的设置执行（{line}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>{first} (+{n} more)</source>
        <translation>{first}（另有 {n} 个）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>{first}, also {names}</source>
        <translation>{first}，以及 {names}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>{fold}, attempt {n}</source>
        <translation>{fold}，第 {n} 次尝试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/folds.py"/>
        <source>{fold}; it will be retried</source>
        <translation>{fold}；将再试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>{forecast}, about {moment}</source>
        <translation>{forecast}，约 {moment}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>{forecast}; other processes are using up the remaining memory at {rate}</source>
        <translation>{forecast}；其他进程占用所剩的部分，每单位 {rate}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>{forecast}; the fit will end before that, in {left}</source>
        <translation>{forecast}；fit 会先在 {left}后结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{host} did not accept your key.</source>
        <translation>{host} 未接受您的密钥。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{host} does not allow socket forwarding.</source>
        <translation>{host} 不允许转发套接字。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{host} is not responding.</source>
        <translation>{host} 没有回应。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{host} refused the ssh connection.</source>
        <translation>{host} 在线，但拒绝 ssh。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{kind} objects</source>
        <translation>{kind} 对象</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>{level}, Auto</source>
        <translation>{level}，自动</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/reclaims.py"/>
        <source>{level}, part of Auto</source>
        <translation>{level}，“自动”的一个步骤</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>{limit} in about {units} ({low} to {high})</source>
        <translation>约 {units}（{low} 至 {high}）后达到{limit}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>{limit} in {units} at the earliest</source>
        <translation>最早 {units}后达到{limit}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{limit} is above the {amount} available to this run here, so the run may fail before it reaches the limit. Set a lower limit, or a percentage.</source>
        <translation>{limit} 高于此运行在这里可得的 {amount}，运行可能在达到上限之前就失败。请设得更低，或使用百分比。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>{limit} is reached</source>
        <translation>已达到{limit}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/forecast_text.py"/>
        <source>{limit} within {units}</source>
        <translation>{units}之内达到{limit}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_store.py"/>
        <source>{limit} · requested</source>
        <translation>{limit} · 已请求</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>{low} to {high}</source>
        <translation>{low} 至 {high}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>{metric} above its limit</source>
        <translation>{metric}超过上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>{metric} after {unit} {n}</source>
        <translation>{metric}（第 {n} 个{unit}之后）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>{metric} exceeded its limit of {limit}: {value}</source>
        <translation>{metric}超过上限 {limit}：{value}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/limit_actions.py"/>
        <source>{metric} exceeds {value}</source>
        <translation>{metric}超过 {value}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>{metric} is back below its limit of {limit}</source>
        <translation>{metric}已回到上限 {limit} 以下</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>{metric} of 1 fold at its last epoch</source>
        <translation>{metric}，1 折的最后一轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/fold_charts.py"/>
        <source>{metric} of 1 trial at its last epoch</source>
        <translation>{metric}，1 次试验的最后一轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <source>{metric}, best</source>
        <translation>{metric}，最佳值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <source>{metric}, last</source>
        <translation>{metric}，最后值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <source>{metric}, peak</source>
        <translation>{metric}，峰值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <source>{metric}, slope</source>
        <translation>{metric}，斜率</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <source>{metric}, verdict</source>
        <translation>{metric}，判定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/alert_text.py"/>
        <source>{metric}: limit exceeded</source>
        <translation>{metric}：越过上限</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/alert_text.py"/>
        <source>{metric}: verdict changed</source>
        <translation>{metric}：判定改变</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/what_if.py"/>
        <source>{name} (original)</source>
        <translation>{name}（自身）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>{name} failed: {error}</source>
        <translation>{name} 失败：{error}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{name} instead of {other}; this changes how the model trains</source>
        <translation>{name} 代替 {other}；训练方式不同</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>{name} is retraced repeatedly</source>
        <translation>{name} 被反复追踪</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>{name} started on {host}, process {pid}</source>
        <translation>{name} 已在 {host} 上启动，进程 {pid}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>{n} ({size})</source>
        <translation>{n}（{size}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/study_section.py"/>
        <source>{n} attempts</source>
        <translation>{n} 次尝试</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{n} custom gradients whose traces are unknown</source>
        <translation>{n} 个自定义梯度的追踪无法确定</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/report/page.py"/>
        <source>{n} earlier events are not shown; use kmonitor export to get them</source>
        <translation>更早的 {n} 条未列出：kmonitor export</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/formats.py"/>
        <source>{n} epochs</source>
        <translation>{n} 轮</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>{n} events missing</source>
        <translation>缺少 {n} 个事件</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>{n} events/s</source>
        <translation>{n} 事件/s</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} failed</source>
        <translation>{n} 失败</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} folds</source>
        <translation>{n} 折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/formats.py"/>
        <source>{n} functions</source>
        <translation>{n} 个函数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} in parallel</source>
        <translation>同时 {n} 折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} killed</source>
        <translation>{n} 被终止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} of 1 fold</source>
        <translation>{n} / 1 折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>{n} of them are pinned.</source>
        <translation>其中 {n} 个已固定。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/workspace.py"/>
        <source>{n} of {all} hosts connected</source>
        <translation>已连接 {n}/{all} 台主机</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/run_history.py"/>
        <source>{n} of {all} runs</source>
        <translation>{n}/{all} 个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} of {of} folds</source>
        <translation>{n} / {of} 折</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>{n} of {of} ranks</source>
        <translation>{n}/{of} 个 rank</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/formats.py"/>
        <source>{n} operations</source>
        <translation>{n} 个算子</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} out of memory</source>
        <translation>{n} 内存不足</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <source>{n} parameters</source>
        <translation>{n} 个参数</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} pruned</source>
        <translation>{n} 已剪枝</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>{n} ranks</source>
        <translation>{n} 个 rank</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} retried</source>
        <translation>{n} 重试过</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} running</source>
        <translation>{n} 运行中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/run_history.py"/>
        <location filename="../../kmonitor/ui/run_tree/run_tree.py"/>
        <source>{n} runs</source>
        <translation>{n} 个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>{n} runs have been removed by these limits since the hub started.</source>
        <translation>自 hub 启动以来，为此移除了 {n} 个运行。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/history/selection.py"/>
        <source>{n} runs selected</source>
        <translation>已选择 {n} 个运行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{n} spools in {folder} cannot be read or removed ({why}): the data stays there until that is fixed</source>
        <translation>{folder} 中有 {n} 个 spool 无法读取或释放（{why}）：在可以之前，其中的内容留在那里</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/formats.py"/>
        <source>{n} steps</source>
        <translation>{n} 步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{n} stored events were damaged: {restored} were restored, and {marked} are marked as lost; check the disk and memory of this machine</source>
        <translation>{n} 个已存储的事件损坏：已恢复 {restored} 个，{marked} 个标记为丢失；请检查本机的磁盘和内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/limits/dry_run.py"/>
        <source>{n} times</source>
        <translation>{n} 次</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} too large</source>
        <translation>{n} 过大</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>{n} traces</source>
        <translation>{n} 个追踪</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{n} traces held by `{name}` (a tf.function in the script)</source>
        <translation>{n} 个追踪被 `{name}` 持有（脚本中的 tf.function）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{n} traces held by `{name}` (a tf.function in the script, {why})</source>
        <translation>{n} 个追踪被 `{name}` 持有（脚本中的 tf.function，{why}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{n} traces in use by live models</source>
        <translation>{n} 个追踪由存活模型使用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n} trials</source>
        <translation>{n} 次试验</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>{n} variables, {size}</source>
        <translation>{n} 个变量，{size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{n}, resumed</source>
        <translation>{n}，续</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/compare/compare_table.py"/>
        <source>{package} version</source>
        <translation>{package} 版本</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>{part} of it happens {where}</source>
        <translation>其中 {part} 发生在{where}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>{percent} of the steps' time</source>
        <translation>{percent} 的步时间</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{place} has stopped growing at {n} objects</source>
        <translation>{place} 在 {n} 个对象时已停止增长</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{place} has stopped growing at {n} objects, {size}</source>
        <translation>{place} 在 {n} 个对象时已停止增长，{size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{place} is a buffer: it was emptied at {n} objects, {size}</source>
        <translation>{place} 是缓冲区：在 {n} 个对象、{size} 时被清空</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{place} is a buffer: {n} objects now, it was emptied at {capacity}</source>
        <translation>{place} 是缓冲区：现有 {n} 个对象，曾在 {capacity} 个时被清空</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{place} is filling: {n} of {capacity} objects</source>
        <translation>{place} 正在填充：{capacity} 个对象中的 {n} 个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{place} is filling: {n} of {capacity} rows</source>
        <translation>{place} 正在填充：{capacity} 行中的 {n} 行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{place} is full: {n} of {capacity} objects, {size}</source>
        <translation>{place} 已满：{capacity} 个对象中的 {n} 个，{size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{place} is full: {n} of {capacity} rows, {size}</source>
        <translation>{place} 已满：{capacity} 行中的 {n} 行，{size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{place} is growing: {what}</source>
        <translation>{place} 在增长：{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{policy} instead of {other}, on a GPU</source>
        <translation>在 GPU 上用 {policy} 代替 {other}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{process}; children: psutil</source>
        <translation>{process}；子进程：psutil</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>{rate} (95% interval {low} to {high})</source>
        <translation>{rate}（95% 区间 {low} 至 {high}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>{rate} ({low} to {high})</source>
        <translation>{rate} ({low} 至 {high})</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>{released}, {n} no longer used</source>
        <translation>{released}，{n} 个不再使用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/totals.py"/>
        <source>{resident} resident + {transient} transient</source>
        <translation>常驻 {resident} + 暂时 {transient}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/run_end.py"/>
        <source>{resource}: {used} of {whole} in the last sample, {left} left</source>
        <translation>{resource}：最后一个样本中 {whole} 用了 {used}，剩余 {left}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>{rise} more since {unit} {n}</source>
        <translation>从第 {n} 个{unit}起多用 {rise}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>{rise} slower since {unit} {n}</source>
        <translation>从第 {n} 个{unit}起多用 {rise}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>{run}, validation</source>
        <translation>{run}，验证</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>{share} of the additional time is spent {where}</source>
        <translation>多用的时间中 {share} 用于{where}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>{share} of the time in the last {n} epochs was spent {where}</source>
        <translation>最近 {n} 轮时间的 {share} 用于{where}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>{share} of the time in the last {n} fits was spent {where}</source>
        <translation>最近 {n} 次 fit 时间的 {share} 用于{where}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>{share} of the time in the last {n} folds was spent {where}</source>
        <translation>最近 {n} 折时间的 {share} 用于{where}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>{share} of the time was spent {where}</source>
        <translation>{share} 的时间用于{where}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}, which was sent to kmonitor run</source>
        <translation>发送给 kmonitor run 的 {signal}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: arithmetic error in native code, often a division by zero</source>
        <translation>{signal}：原生代码中的算术错误，往往是除以零</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: bus error, often because /dev/shm or a disk was full</source>
        <translation>{signal}：文件背后的内存已不在；往往是 /dev/shm 或磁盘已满</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: hangup, often because its terminal was closed</source>
        <translation>{signal}：挂断，往往是因为其终端已关闭</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: illegal instruction, often one that this CPU does not support</source>
        <translation>{signal}：非法指令，往往是此处理器不支持的指令</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: it aborted, often after native code failed a check or ran out of memory</source>
        <translation>{signal}：自行放弃；往往是原生代码中的检查失败或内存不足</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: it was asked to terminate, for example, by kill, systemd or a batch system</source>
        <translation>{signal}：被要求结束，如 kill、服务管理器或批处理系统所为</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: it was interrupted, for example, by Ctrl+C</source>
        <translation>{signal}：被中断，如按下 Ctrl+C</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: killed by another process, not for lack of memory: the kernel recorded no out-of-memory kills</source>
        <translation>{signal}：被某个进程终止，并非因内存不足：没有计到这样的终止</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: killed; kmonitor cannot tell whether it ran out of memory</source>
        <translation>{signal}：被终止；此处没有计数器能说明是否因内存不足</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: killed; the kernel recorded no out-of-memory kill in its control group ({how}), but one elsewhere on this host</source>
        <translation>{signal}：被终止；内核没有因内存不足在其控制组（{how}）中结束过进程，但在本机别处结束过一个</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{signal}: segmentation fault, often a bug in native code</source>
        <translation>{signal}：访问了不属于自己的内存；往往是原生代码出错</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>{size} in the file, {n} values</source>
        <translation>文件中 {size}，{n} 个值</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/model_file.py"/>
        <source>{size} in {n} arrays</source>
        <translation>{size}，{n} 个数组</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{size} of resident memory is neither weights nor optimizer state; it may be data on the device or another model, for example</source>
        <translation>常驻部分中有 {size} 既不是权重也不是优化器状态：可能是设备上的数据，或另一个模型</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/layers.py"/>
        <source>{size} of the peak</source>
        <translation>峰值中的 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>{slope}, over the last {window}</source>
        <translation>{slope}，最近 {window}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>{slope}, over {window}</source>
        <translation>{slope}，区间 {window}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>{slow} of {n} timed steps took {part}, each about {each}</source>
        <translation>{n} 个计时步中的 {slow} 步占{part}，每步约 {each}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>{slow} of {n} timed steps took {part}, the longest {longest}</source>
        <translation>{n} 个计时步中的 {slow} 步占{part}，最长的一步 {longest}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{stall}; tasks are waiting for memory {n}% of the time</source>
        <translation>{stall}；内存不足：任务有 {n}% 的时间在等待内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{stall}; tasks are waiting for the disk {n}% of the time</source>
        <translation>{stall}；任务有 {n}% 的时间在等待磁盘</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_text.py"/>
        <source>{state}, but other processes are using up what is left</source>
        <translation>{state}，但其他进程正在占用所剩的内存</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/run_states.py"/>
        <source>{state}: {cause}</source>
        <translation>{state}：{cause}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/tried_text.py"/>
        <source>{text} (the last of {n} times)</source>
        <translation>{text}（共 {n} 次，此为最后一次）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/alerts/alert_text.py"/>
        <source>{text} ({n} more like this)</source>
        <translation>{text}（此前还有 {n} 条类似的）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{text}, about {size} when full</source>
        <translation>{text}，填满时约 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{text}, it will end at about {size}</source>
        <translation>{text}，将在约 {size} 时结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>{text}; Python ran a full garbage collection in it</source>
        <translation>{text}；Python 在这一步里做了一次完整的垃圾回收</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>{text}; Python ran full garbage collections in them</source>
        <translation>{text}；Python 在这些步里做了完整的垃圾回收</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>{text}; Python ran full garbage collections in {n} of them</source>
        <translation>{text}；Python 在其中 {n} 步里做了完整的垃圾回收</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>{text}; not excluded: {what}</source>
        <translation>{text}；未排除：{what}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/runs/step_times.py"/>
        <source>{text}; that time was spent {where}</source>
        <translation>{text}；那些时间用于{where}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>{time} / step</source>
        <translation>{time} / 步</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>{time} ago</source>
        <translation>{time} 前</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/studies/study_page.py"/>
        <source>{time} of about {whole}</source>
        <translation>{time}，共约 {whole}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>{title} arrived too late and was dropped</source>
        <translation>{title}：来得太晚，已放弃</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>{title} failed</source>
        <translation>{title}：失败</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>{title} started</source>
        <translation>{title}：已开始</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>{title} was not performed: {why}</source>
        <translation>{title}未执行：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/event_text.py"/>
        <source>{title} was refused</source>
        <translation>{title}：被拒绝</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/crash_reports.py"/>
        <source>{title} {n} reports were saved.</source>
        <translation>{title}留存了 {n} 份报告。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>{title}: requested</source>
        <translation>{title}：已请求</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>{title}: running</source>
        <translation>{title}：正在执行</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>{title}: waiting for the end of epoch {n}</source>
        <translation>{title}：等待第 {n} 轮结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>{title}: waiting for the end of the batch</source>
        <translation>{title}：等待当前批次结束</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/diagnosis.py"/>
        <source>{title}: {n} more</source>
        <translation>{title}：另有 {n} 项</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/actions/action_panel.py"/>
        <source>{title}: {why}</source>
        <translation>{title}：{why}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>{traces} no longer used</source>
        <translation>{traces}不再使用</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>{traces} of 1 model</source>
        <translation>1 个模型的 {traces}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>{traces} of {models} models</source>
        <translation>{models} 个模型的 {traces}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/charts/extra_charts.py"/>
        <source>{value} smoothed</source>
        <translation>平滑后 {value}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/verdict_label.py"/>
        <source>{verdict}. Click for the evidence.</source>
        <translation>{verdict}。单击查看依据。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{what} (size not known)</source>
        <translation>{what}（大小未知）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{what} ({size} each)</source>
        <translation>{what}（每个 {size}）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{what} +{n} in {unit} {number}</source>
        <translation>{what} +{n}，在第 {number} 个{unit}中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{what} +{per_unit} / {per}</source>
        <translation>{what} +{per_unit} / {per}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{what} are retained in {place}</source>
        <translation>{what}保留在 {place} 中</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{what} of {like}</source>
        <translation>{what} {like} </translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/settings/hub_settings.py"/>
        <source>{what} will be removed from the history within minutes, for everyone. Pinned and live runs stay, and so do checkpoints. This cannot be undone.</source>
        <translation>{what}会在几分钟内从历史中消失，对所有查看者都是如此。已固定和正在进行的运行保留，检查点也保留。此操作无法撤销。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{what}, views that each keep a larger one of {base} alive,</source>
        <translation>{what}（视图，各自使形状为 {base} 的更大数组保持占用）</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>{what}. kmonitor keeps running, and training is not affected. Details are in {log}.</source>
        <translation>{what}。它会继续运行，训练不受影响。详情见 {log}。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/kept_text.py"/>
        <source>{what}: +{per_unit} / {per}</source>
        <translation>{what}：+{per_unit} / {per}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/verdicts/time_text.py"/>
        <source>{where} and {other}</source>
        <translation>{where}以及{other}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/events/action_records.py"/>
        <source>{who}, as part of Auto</source>
        <translation>{who}，“自动”的一个步骤</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{why}, at its job's time limit</source>
        <translation>{why}；正值其作业的时间限制</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/shell/header.py"/>
        <source>{why}. Click to see what led to it.</source>
        <translation>{why}。单击查看此前的情况。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/hosts/connection_status.py"/>
        <source>{why}. Until this is resolved, commands and changes are refused, and training runs keep their data on their own disks as long as there is space.</source>
        <translation>{why}。在此之前命令和修改会被拒绝，训练把数据暂存在自己的磁盘上（视剩余空间而定）。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/text/hub_text.py"/>
        <source>{why}; restarting in a new process</source>
        <translation>{why}；正在新进程中重新开始</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/memory/batch_curve.py"/>
        <source>{words}: the peak would be {size}</source>
        <translation>{words}：那么峰值为 {size}</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>“{name}” is still running: stop it first.</source>
        <translation>“{name}”仍在运行：请先停止其训练。</translation>
    </message>
    <message>
        <location filename="../../kmonitor/ui/workspace/run_edits.py"/>
        <source>“{name}” was not changed: {why}.</source>
        <translation>“{name}”未更改：{why}。</translation>
    </message>
</context>
</TS>
